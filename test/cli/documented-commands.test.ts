import { exec } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, delimiter, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { ExitCode, endingOf } from '../../cli/failure.ts';
import { commandsOf, payonceProgram } from '../../cli/program.ts';
import { unitFiles } from '../run/entries.ts';
import { sliceOf } from '../support/slice.ts';

const PROJECT = resolve(import.meta.dirname, '..', '..');
const read = (path: string): string => readFileSync(join(PROJECT, path), 'utf8');
const { scripts } = JSON.parse(read('package.json')) as { readonly scripts: Readonly<Record<string, string>> };

function codeOf(document: string): string {
  const blocks = [...document.matchAll(/```sh\n(.*?)```/gs)].map(([, code = '']) => code);
  const spans = [...document.replaceAll(/```.*?```/gs, '').matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
  return [...blocks, ...spans].join('\n');
}

function commandsIn(document: string): readonly string[] {
  const found = codeOf(document).matchAll(
    /\b(npm run [\w:]+|npm (?:ci|start|stop|test)|npx payonce [a-z]+(?:-[a-z]+)*(?: [a-z]+(?:-[a-z]+)*)?|npx cdk \w+)\b/g,
  );
  return [...new Set([...found].map(([command]) => command))].toSorted();
}

const documents = globSync(['*.md', 'docs/**/*.md'], { cwd: PROJECT, exclude: ['docs/design/decisions/**'] });

function program(print: (text: string) => void = () => undefined) {
  return payonceProgram({ print, isTerminal: false, freshKey: () => 'key' });
}

const COMMANDS = commandsOf(program());

/** Undefined if there is no such command. */
function payonceCommandOf([group = '', name = '']: readonly string[]): string | undefined {
  return COMMANDS.find((each) => each === group || each === `${group} ${name}`);
}

describe('documented commands:', () => {
  const commands = documents.flatMap((document) =>
    commandsIn(read(document)).map((command) => ({ document, command })),
  );

  test.each(commands)('$document: $command exists', ({ command }) => {
    const [tool = '', ...words] = command.split(' ');
    if (words[0] === 'payonce') expect(payonceCommandOf(words.slice(1))).toBeDefined();
    else if (tool === 'npx') expect(existsSync(join(PROJECT, 'node_modules', '.bin', words[0] ?? ''))).toBe(true);
    else if (command !== 'npm ci') expect(Object.keys(scripts)).toContain(words.at(-1));
  });

  test('docs/reference/cli.md lists exactly the commands of payonce', () => {
    const documented = [
      ...read('docs/reference/cli.md').matchAll(/^\| `([a-z]+(?:-[a-z]+)*(?: [a-z]+(?:-[a-z]+)*)?)[^|]*` \|/gm),
    ].map(([, words]) => words);
    expect(new Set(documented)).toEqual(new Set(COMMANDS));
  });

  test('docs/reference/cli.md lists exactly the exit codes', () => {
    const documented = [...read('docs/reference/cli.md').matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code));
    expect(documented).toEqual(Object.values(ExitCode));
  });
});

const NEWCOMER_PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'docs/start/first-payment.md',
  'docs/start/your-own-cdk-app.md',
  'docs/operate/first-deploy.md',
  'docs/operate/first-incident.md',
];
/** Each command has a file, and words in that file that run the command. */
const RUN_ELSEWHERE: Readonly<Record<string, readonly [file: string, words: string]>> = {
  'npm ci': ['.ci/run', 'npm ci'],
  'npm test': ['.ci/run', 'npm test'],
  'npm run check': ['test/run/all.ts', "'lint', 'boundaries', 'types', 'dead', 'words', 'format'"],
  'npm run synth': ['test/run/all.ts', 'withRules: true'],
  'npm run commits': ['.githooks/commit-msg', 'npm run --silent commits'],
  'npm run format:fix': ['package.json', 'biome check --write .'],
  'npm run hooks': ['package.json', 'core.hooksPath'],
  'npm run test:contract': ['test/run/prove.ts', "'test:contract'"],
  'npm run test:drills': ['test/run/prove.ts', "'test:drills'"],
  'npm run test:postgres': ['test/run/prove.ts', "'test:postgres'"],
  'npx cdk bootstrap': ['local/cdk.ts', "'bootstrap'"],
  'npx cdk deploy': ['local/cdk.ts', "'deploy'"],
};
/** This test only starts each program; the files in `RUN_WHOLE` run most of them to the end. */
const PROGRAMS = ['start', 'stop', 'demo', 'bench', 'package', 'generate', 'docs:tables', 'prove', 'test', 'test:busy'];
const RUN_WHOLE: Readonly<Record<string, readonly [file: string, words: string]>> = {
  start: ['test/lifecycle/local.drill.test.ts', "'start.ts'"],
  stop: ['test/lifecycle/local.drill.test.ts', "'stop.ts'"],
  demo: ['test/demo/demo.drill.test.ts', 'sideBySide('],
  bench: ['test/bench/short.drill.test.ts', 'measure('],
  package: ['test/package/foreign-app.ts', 'package/build.ts'],
  generate: ['package.json', ' || npm run generate"'],
  'docs:tables': ['test/docs/state-machine.test.ts', 'fill('],
};

function startedBy(name: string): readonly string[] {
  const [file] = /test\/run\/all\.ts/.exec(scripts[name] ?? '') ?? [];
  const text = file === undefined ? (scripts[name] ?? '') : read(file);
  const named = [...text.matchAll(/(?:npm run |npm:|'(?!npm ))([\w:]+)/g)].map(([, each = '']) => each);
  return [name, ...named.filter((each) => each in scripts && each !== name).flatMap(startedBy)];
}

async function runScript(name: string, ...words: readonly string[]) {
  const script = scripts[name]?.replace('npm run jest --', scripts['jest'] ?? '');
  // With PAYONCE_TOGETHER, jest runs the generated entries and finds no test files by their names.
  const env = {
    ...process.env,
    PAYONCE_TOGETHER: '',
    PATH: [join(PROJECT, 'node_modules', '.bin'), process.env['PATH']].join(delimiter),
  };
  return promisify(exec)([script, ...words].join(' '), { cwd: PROJECT, env }).then(
    (ended) => ({ code: 0, ...ended }),
    (error: unknown) => error as { readonly code: number; readonly stdout: string; readonly stderr: string },
  );
}

describe('the commands on the newcomer pages:', () => {
  const named = commandsIn(NEWCOMER_PAGES.map(read).join('\n'));
  const ofPayonce = named
    .filter((command) => command.startsWith('npx payonce '))
    .map((command) => payonceCommandOf(command.split(' ').slice(2)) ?? command);
  const ofCi = startedBy('test');

  test('continuous integration, a suite or this file runs each of them', () => {
    expect(named.length).toBeGreaterThan(15);
    const run = new Set([...ofCi, ...PROGRAMS, 'test:unit'].map((name) => `npm run ${name}`));
    const elsewhere = named
      .filter((command) => !command.startsWith('npx payonce '))
      .filter((command) => !run.has(command.replace(/^npm (?=start$|stop$)/, 'npm run ')));
    expect(elsewhere.toSorted()).toEqual(Object.keys(RUN_ELSEWHERE).toSorted());
    for (const [file, words] of [...Object.values(RUN_ELSEWHERE), ...Object.values(RUN_WHOLE)])
      expect(read(file)).toContain(words);
  });

  test('npm test runs all checks and suites; npm run prove runs them completely, plus the drills and the simulator', async () => {
    const suites = ['test:unit', 'test:stores', 'test:deployed'];
    const checks = ['types', 'lint', 'boundaries', 'dead', 'words', 'format'];
    expect(new Set(ofCi)).toEqual(new Set(['test', ...checks, ...suites, 'jest']));
    const { stdout } = await runScript('prove', '--again', '--list');
    const proved = new Set(stdout.match(/(?<=: npm run )\S+/gm));
    expect(proved).toEqual(
      new Set([...checks, 'synth', ...suites, 'test:contract', 'test:drills', 'test:postgres', 'demo', 'simulate']),
    );
    for (const room of unitFiles().keys()) expect(stdout).toContain(`entries/${room}\\.test`);
  });

  // npx installs the package of the clone in its cache, so npm runs `prepare` at the first `npx payonce` of each clone.
  test('npx payonce generates nothing, because npm ci has generated all files', async () => {
    const { npm_command } = process.env;
    process.env['npm_command'] = 'exec';
    const ended = await runScript('prepare').finally(() => {
      if (npm_command === undefined) delete process.env['npm_command'];
      else process.env['npm_command'] = npm_command;
    });
    expect(ended).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  const patterns = [
    ['unit', 'entries/payments', /^payments\.test\.js$/],
    ['stores', 'test/payments', /\.stores\.test\.ts$/],
    ['deployed', 'test/payments', /\.deployed\.test\.ts$/],
    ['drills', 'test/archive', /\.drill\.test\.ts$/],
  ] as const;
  test.each(sliceOf(patterns, 4))(
    'npm run test:%s runs only its own suites that match %s',
    async (suite, pattern, name) => {
      const { code, stdout } = await runScript(`test:${suite}`, pattern, '--listTests');
      expect(code).toBe(0);
      const files = stdout.match(/^\/\S+$/gm) ?? [];
      expect(files).not.toEqual([]);
      for (const file of files) {
        expect(file).toContain(pattern);
        expect(basename(file)).toMatch(name);
      }
    },
  );

  const programs = [...PROGRAMS.map((name) => [name, 1] as const), ['simulate', ExitCode.usage] as const];
  test.each(sliceOf(programs, 4))('npm run %s refuses an unknown option in one sentence', async (name, exitCode) => {
    const { code, stdout, stderr } = await runScript(name, '--no-such-option');
    expect({ code, stdout }).toEqual({ code: exitCode, stdout: '' });
    expect(stderr).toMatch(/^.*[Uu]nknown option '--no-such-option'.*\n$/);
  });

  test.each([...new Set(ofPayonce)])('payonce %s shows its help', async (command) => {
    const printed: string[] = [];
    const error: unknown = await program((text) => printed.push(text))
      .parseAsync([...command.split(' '), '--help'], { from: 'user' })
      .catch((thrown: unknown) => thrown);
    expect(endingOf(error)).toEqual({ exitCode: ExitCode.done, sentence: undefined });
    expect(printed.join('\n')).toContain(`Usage: payonce ${command}`);
  });
});
