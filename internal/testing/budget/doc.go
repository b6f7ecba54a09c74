// Package budget shares the machine's CPUs among the tests that measure, in all packages
// whose tests run at the same time.
//
// Such a test declares how many CPUs it needs on average, and waits until they are free: all
// tests together are never given more than three quarters of the machine. Otherwise the
// tests would starve each other of CPU, and what they measure would be each other.
//
// Input: the CPUs that a test needs. Output: it returns when the test may begin.
package budget
