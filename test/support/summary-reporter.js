/** Ends every run with one line of totals. */
class SummaryReporter {
  onRunComplete(_contexts, { numPassedTests, numFailedTests, numFailedTestSuites }) {
    // A suite that could not be loaded fails without a failed test.
    process.stdout.write(`${numPassedTests} passed, ${Math.max(numFailedTests, numFailedTestSuites)} failed\n`);
  }
}

export default SummaryReporter;
