// SPDX-License-Identifier: Apache-2.0

// Package xk6sql is the module k6/x/sql and its driver modules k6/x/sql/driver/NAME.
//
// The code is that of github.com/grafana/xk6-sql v1.0.5, by Grafana Labs and contributors,
// under the licence in the file LICENSE. It was changed: it imports k6 v2, for which no
// version of the original can be had, its files are one, and drivers are registered by
// calls alone, and its statements are reported. Scripts see no difference.
//
// Input: the statements of scripts. Output: rows, and the results of statements.
package xk6sql
