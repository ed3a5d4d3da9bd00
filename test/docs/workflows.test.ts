import { globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';

const read = (path: string): string => readFileSync(path, 'utf8');
const workflows = globSync('.github/workflows/*.yml');
const { scripts } = JSON.parse(read('package.json')) as { readonly scripts: Readonly<Record<string, string>> };

describe('workflows', () => {
  test('run the two commands in the README, and every night the complete proof', () => {
    const [ci, prove] = [read('.github/workflows/ci.yml'), read('.github/workflows/prove.yml')];
    for (const command of ['npm ci && npm start', 'npm ci && npm test']) {
      expect(read('README.md')).toContain(`\n${command}`);
      expect(ci).toContain(`- run: ${command}`);
    }
    expect(prove).toContain('schedule:');
    expect(prove).toContain('- run: npm ci && npm run prove\n');
  });

  test.each(workflows)('in %s run no tests in a job that has permission to publish', (file) => {
    const jobs = read(file).split(/^ {2}(?=\w+:$)/m);
    const trusted = jobs.filter((job) => job.includes('id-token: write'));
    expect(trusted.filter((job) => /\bnpm (?:test|start|run prove)\b/.test(job))).toEqual([]);
  });

  test.each(workflows)('in %s generate the files that an installation without scripts lacks', (file) => {
    expect(read(file)).not.toMatch(/npm ci --ignore-scripts(?! && npm run generate$)/m);
  });

  test.each(workflows)('in %s run only existing scripts, and pin every action to a commit', (file) => {
    const text = read(file);
    const called = [...text.matchAll(/\bnpm (?:run ([\w:]+)|(start|stop|test))\b/g)].map(([, run, own]) => run ?? own);
    expect(called.filter((name) => scripts[String(name)] === undefined)).toEqual([]);
    const used = [...text.matchAll(/uses: (\S+)/g)].map(([, action]) => action);
    expect(used.filter((action) => !/@[0-9a-f]{40}$/.test(String(action)))).toEqual([]);
    expect(text).toMatch(/^permissions:\n {2}contents: read$/m);
  });
});
