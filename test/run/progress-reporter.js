import { relative, sep } from 'node:path';

class ProgressReporter {
  #done = 0;
  #all = 0;
  #file = '';

  onRunStart({ numTotalTestSuites }) {
    this.#all = numTotalTestSuites;
  }

  /** An entry of tests on the local AWS takes minutes, so each file is reported after its first test. */
  onTestCaseResult({ path }, { ancestorTitles: [file = ''] }) {
    if (!path.includes('local-aws') || file === this.#file) return;
    this.#file = file;
    console.log(`▸ ${file}`);
  }

  onTestResult({ path }, { testResults, failureMessage, testExecError, perfStats }) {
    this.#done += 1;
    const file = fileOf(path);
    const failed = testResults.filter(({ status }) => status === 'failed');
    const seconds = Math.round((perfStats.end - perfStats.start) / 1_000);
    const name = file.replace(/^test\/entries\//, '').replace(/\.test\.[jt]s$/, '');
    const isBroken = testExecError !== undefined && testExecError !== null;
    const count = isBroken ? ', FAILED to load' : failed.length === 0 ? '' : `, ${failed.length} FAILED`;
    console.log(`▸ ${this.#done} of ${this.#all}: ${name} (${testResults.length} tests, ${seconds} s)${count}`);
    for (const each of failed) {
      const { name: failedTest, command } = repeat(each, file);
      // `npm test` shows lines that begin with ▸ immediately, and the other output after the suite has failed.
      console.log(`▸ FAILED ${failedTest}\n▸   to repeat: ${command}`);
      console.log(`\nFAILED ${failedTest}\nTo repeat: ${command}\n${each.failureMessages.join('\n')}`);
    }
    if (isBroken) {
      const together = file.startsWith('test/entries/local-aws/') ? 'PAYONCE_TOGETHER=1 ' : '';
      console.log(`▸ FAILED to load ${name}\n▸   to repeat: ${variables()}${together}npm run jest -- ${file}`);
      console.log(failureMessage);
    }
  }

  onRunComplete(_contexts, { numPassedTests, numFailedTests, numFailedTestSuites }) {
    // A file that could not be loaded has no failed test, so failed files are counted, too.
    console.log(`${numPassedTests} passed, ${Math.max(numFailedTests, numFailedTestSuites)} failed`);
  }
}

const fileOf = (path) => relative(process.cwd(), path).split(sep).join('/');

const variables = () =>
  ['PAYONCE_SLICE', 'PAYONCE_PROVE']
    .flatMap((name) => (process.env[name] === undefined ? [] : [`${name}=${process.env[name]} `]))
    .join('');

function repeat({ ancestorTitles, fullName, title }, file) {
  const [first = ''] = ancestorTitles;
  const isEntry = file.startsWith('test/entries/');
  const own = isEntry ? first : file;
  const name = isEntry ? [...ancestorTitles.slice(1), title].join(' ') : fullName;
  const pattern = name.replace(/[.*+?^${}()|[\]\\'"`]/g, '.');
  return { name: `${own} › ${name}`, command: `${variables()}npm run jest -- ${own} -t '${pattern}'` };
}

export default ProgressReporter;
