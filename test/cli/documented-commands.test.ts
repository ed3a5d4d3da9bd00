import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { ExitCode, endingOf } from '../../cli/failure.ts';
import { commandsOf, payonceProgram } from '../../cli/program.ts';

const PROJECT = resolve(import.meta.dirname, '..', '..');
const read = (path: string): string => readFileSync(join(PROJECT, path), 'utf8');
const { scripts } = JSON.parse(read('package.json')) as { readonly scripts: Readonly<Record<string, string>> };

/** What is code in a document: fenced blocks and inline spans. */
function codeOf(document: string): string {
  const blocks = [...document.matchAll(/```sh\n(.*?)```/gs)].map(([, code = '']) => code);
  const spans = [...document.replaceAll(/```.*?```/gs, '').matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
  return [...blocks, ...spans].join('\n');
}

/** `npm start`, `npm run check`, `npx payonce keys list`, `npx cdk deploy`: without what follows. */
function commandsIn(document: string): readonly string[] {
  const found = codeOf(document).matchAll(
    /\b(npm run [\w:]+|npm (?:ci|start|stop|test)|npx payonce [a-z]+ [a-z]+|npx cdk \w+)\b/g,
  );
  return [...new Set([...found].map(([command]) => command))].toSorted();
}

const documents = globSync(['*.md', 'docs/*.md'], { cwd: PROJECT });

function program(print: (text: string) => void = () => undefined) {
  return payonceProgram({ print, isTerminal: false, freshKey: () => 'key' });
}

describe('commands in documents', () => {
  const commands = documents.flatMap((document) =>
    commandsIn(read(document)).map((command) => ({ document, command })),
  );

  test.each(commands)('$document: $command exists', ({ command }) => {
    const [tool = '', ...words] = command.split(' ');
    if (words[0] === 'payonce') expect(commandsOf(program())).toContain(words.slice(1).join(' '));
    else if (tool === 'npx') expect(existsSync(join(PROJECT, 'node_modules', '.bin', words[0] ?? ''))).toBe(true);
    else if (command !== 'npm ci') expect(Object.keys(scripts)).toContain(words.at(-1));
  });

  test('docs/cli.md lists each command of payonce, and no other', () => {
    const documented = [...read('docs/cli.md').matchAll(/^\| `([a-z]+(?: [a-z]+)?)[^|]*` \|/gm)].map(
      ([, words]) => words,
    );
    expect(new Set(documented)).toEqual(new Set(commandsOf(program())));
  });

  test('docs/cli.md lists each exit code, and no other', () => {
    const documented = [...read('docs/cli.md').matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code));
    expect(documented).toEqual(Object.values(ExitCode));
  });
});

/**
 * Who runs each command that the README names. The others of this file are run here: `payonce`, with `--help` and without what
 * they need.
 */
const RUN_ELSEWHERE: Readonly<Record<string, string>> = {
  'npm ci': 'package-lock.json',
  'npm start': 'test/lifecycle/local.stores.test.ts',
  'npm stop': 'test/lifecycle/local.stores.test.ts',
  'npm test': 'package.json',
  'npm run check': 'package.json',
  'npm run prove': 'test/run/prove.ts',
  'npm run test:busy': 'test/run/busy.ts',
  'npm run test:unit': 'package.json',
  'npm run test:aws': 'package.json',
  'npm run jest': 'package.json',
  'npm run demo': 'test/demo/demo.deployed.test.ts',
  'npm run bench': 'test/bench/short.stores.test.ts',
  'npm run docs:tables': 'test/docs/state-machine.test.ts',
  'npx cdk bootstrap': 'local/cdk.ts',
  'npx cdk deploy': 'local/cdk.ts',
};

describe('each command that the README names is run', () => {
  const named = commandsIn(read('README.md'));
  const ofPayonce = named
    .filter((command) => command.startsWith('npx payonce '))
    .map((command) => command.split(' ').slice(2));

  test('by its own suite, or by this one', () => {
    expect(named.length).toBeGreaterThan(15);
    const elsewhere = named.filter((command) => !command.startsWith('npx payonce '));
    expect(elsewhere.filter((command) => RUN_ELSEWHERE[command] === undefined)).toEqual([]);
    expect(Object.values(RUN_ELSEWHERE).filter((file) => !existsSync(join(PROJECT, file)))).toEqual([]);
  });

  test.each(ofPayonce)('payonce %s %s shows its help', async (...words) => {
    const printed: string[] = [];
    const error: unknown = await program((text) => printed.push(text))
      .parseAsync([...words, '--help'], { from: 'user' })
      .catch((thrown: unknown) => thrown);
    expect(endingOf(error)).toEqual({ exitCode: ExitCode.done, sentence: undefined });
    expect(printed.join('\n')).toContain(`Usage: payonce ${words.join(' ')}`);
  });
});
