// SPDX-License-Identifier: Apache-2.0

//go:build unix

package record

import "syscall"

// noFollow are the flags with which a file is opened that may be a link or a pipe.
const noFollow = syscall.O_NONBLOCK | syscall.O_NOFOLLOW
