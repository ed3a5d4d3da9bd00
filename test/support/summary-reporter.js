class SummaryReporter {
  onRunComplete(_contexts, { numPassedTests, numFailedTests, numFailedTestSuites }) {
    // A suite that cannot be loaded is counted as failed, but none of its tests is.
    process.stdout.write(`${numPassedTests} passed, ${Math.max(numFailedTests, numFailedTestSuites)} failed\n`);
  }
}

export default SummaryReporter;
