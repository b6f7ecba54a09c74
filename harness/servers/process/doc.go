// Package process starts and stops the child processes of the local stack.
//
// In: a command, and how its life is tied to this process. Out: a Child, and
// its Identity, which names that very process also from another one, later,
// after its pid was given to somebody else. Linux only: it reads /proc and uses
// the parent-death signal.
package process
