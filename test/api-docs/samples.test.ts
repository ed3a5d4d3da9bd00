import { execFileSync } from 'node:child_process';
import { describe, expect, test } from '@jest/globals';
import ts from 'typescript';
import { createClient } from '../../client/client.ts';
import { memoryKeys } from '../../client/key-store.ts';
import type { CodeSample } from '../../lambdas/api-docs/samples.ts';
import { operations } from './described-api.ts';

const described = operations.map((operation) => ({
  ...operation,
  samples: operation['x-codeSamples'] ?? [],
}));
const sourcesIn = (lang: CodeSample['lang']) =>
  described.flatMap(({ samples }) => samples.flatMap((each) => (each.lang === lang ? [each.source] : [])));

describe('the samples of the API documents', () => {
  test('exist in curl, TypeScript and Python for each operation, except for callbacks, which processors send', () => {
    const without = described.filter(({ samples }) => samples.length === 0);
    expect(without.map(({ operationId }) => operationId)).toEqual(['receiveCallback']);
    for (const { samples, operationId } of described)
      if (operationId !== 'receiveCallback')
        expect([operationId, ...samples.map(({ label }) => label)]).toEqual([
          operationId,
          'curl',
          'TypeScript',
          'Python',
        ]);
  });

  test('are valid in their language', () => {
    const shell = sourcesIn('Shell');
    expect(shell.length).toBeGreaterThan(70);
    execFileSync('sh', ['-n'], { input: shell.join('\n') });
    const check = 'import ast, json, sys\nfor each in json.load(sys.stdin): ast.parse(each)';
    execFileSync('python3', ['-c', check], { input: JSON.stringify(sourcesIn('Python')) });
    for (const source of sourcesIn('TypeScript')) {
      const { parseDiagnostics } = ts.createSourceFile('sample.ts', source, ts.ScriptTarget.ESNext) as ts.SourceFile & {
        readonly parseDiagnostics: readonly unknown[];
      };
      expect([source, parseDiagnostics]).toEqual([source, []]);
    }
  });

  test('send each operation to its own path, with its method, and with a key if it has one', () => {
    for (const { samples, operationId, method, path, parameters, security } of described) {
      const [curl] = samples;
      if (curl === undefined) continue;
      const { source } = curl;
      const sent = source.replaceAll(/\$([A-Z_]+)/g, (_text, name: string) => `{${name.toLowerCase()}}`);
      expect([operationId, /"\{api\}([^?"]*)/.exec(sent)?.[1], / -X (\w+)/.exec(sent)?.[1] ?? 'GET']).toEqual([
        operationId,
        path,
        method,
      ]);
      const header = parameters.find(({ name }) => name === 'Idempotency-Key');
      expect([operationId, source.includes('Idempotency-Key')]).toEqual([operationId, header !== undefined]);
      const query = parameters.filter(({ in: where, required }) => where === 'query' && required === true);
      expect([operationId, ...query.map(({ name }) => source.includes(`${name}=$`))]).toEqual([
        operationId,
        ...query.map(() => true),
      ]);
      expect([operationId, source.includes('$OPERATOR_KEY')]).toEqual([
        operationId,
        security.every((each) => !('apiKey' in each)),
      ]);
    }
  });

  test('call functions that the client has, by the same names in Python', () => {
    const client: object = createClient({ url: 'https://api.example', keys: memoryKeys() });
    const names: string[] = [];
    for (const { samples } of described) {
      const [, name] = /client\.(\w+\.\w+)\(/.exec(samples[1]?.source ?? '') ?? [];
      if (name === undefined) continue;
      names.push(name);
      const [resource = '', method = ''] = name.split('.');
      const functions = Reflect.get(client, resource) as Readonly<Record<string, unknown>>;
      expect([name, typeof functions[method]]).toEqual([name, 'function']);
      const inPython = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      expect(samples[2]?.source).toContain(`client.${inPython}(`);
    }
    expect(new Set(names).size).toBe(30);
  });
});
