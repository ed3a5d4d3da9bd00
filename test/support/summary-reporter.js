/** Closes every run with one plain line, for whoever reads only the last. */
class SummaryReporter {
  onRunComplete(_contexts, { numPassedTests, numFailedTests, numFailedTestSuites }) {
    // A suite that could not be loaded has no failed test, and has failed all the same.
    process.stdout.write(`${numPassedTests} passed, ${Math.max(numFailedTests, numFailedTestSuites)} failed\n`);
  }
}

export default SummaryReporter;
