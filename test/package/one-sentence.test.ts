import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from '@jest/globals';

const PROJECT = resolve(import.meta.dirname, '..', '..');
const directory = mkdtempSync(join(tmpdir(), 'payonce-sentence-'));
afterAll(() => rmSync(directory, { recursive: true }));

/** `refuse` throws the error of a refused setting. */
async function runApp(code: string) {
  const app = join(directory, 'app.mjs');
  const path = (file: string) => JSON.stringify(pathToFileURL(join(PROJECT, file)).href);
  writeFileSync(
    app,
    `import ${path('package/one-sentence.ts')};
     import { refuseShortRetention } from ${path('lib/settings/retention.ts')};
     const refuse = () => refuseShortRetention({ retention: { events: 1 } });
     ${code}`,
  );
  const ended: Promise<object> = promisify(execFile)(process.execPath, [app]).then(
    (printed) => ({ code: 0, ...printed }),
    (error: unknown) => error as object,
  );
  return ended;
}

const SENTENCE = /^payonce:retention keeps records of events for 1 hour, [^\n]+\n$/;

describe('an app with the constructs', () => {
  test.each([
    ['while it is loaded', 'refuse();'],
    ['later', 'setTimeout(refuse);'],
    ['in a promise', 'void Promise.resolve().then(refuse);'],
  ])('prints one sentence if Payonce refuses a setting %s', async (_, code) => {
    expect(await runApp(code)).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(SENTENCE) });
  });

  test('can catch the error of a refused setting', async () => {
    const caught = await runApp('try { refuse(); } catch (error) { console.log(error.message); }');
    expect(caught).toMatchObject({ code: 0, stdout: expect.stringMatching(SENTENCE), stderr: '' });
    const handled = await runApp("process.on('uncaughtException', ({ message }) => console.log(message)); refuse();");
    expect(handled).toMatchObject({ code: 0, stdout: expect.stringMatching(SENTENCE), stderr: '' });
  });

  test('still prints the stack trace of its own errors and of bugs in Payonce', async () => {
    const own = await runApp("throw new Error('My own error.');");
    expect(own).toMatchObject({ code: 1, stderr: expect.stringMatching(/Error: My own error\.\n {4}at .*app\.mjs/) });
    const other = await runApp('throw undefined;');
    expect(other).toMatchObject({ code: 1, stderr: expect.not.stringContaining('one-sentence') });
    const bug = await runApp('refuseShortRetention();');
    expect(bug).toMatchObject({ code: 1, stderr: expect.stringMatching(/TypeError: .+\n {4}at .*retention\.ts/) });
  });
});
