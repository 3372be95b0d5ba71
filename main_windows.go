package main

// flakeward needs Unix: a socket whose peers the kernel names, locks that end with their process,
// and a directory that keeps its identity. A build for Windows therefore ends here, and says so.
func main() {
	flakeward_does_not_run_on_Windows__run_it_in_WSL_2_or_a_Linux_VM()
}
