import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from '@jest/globals';
import { createClient } from '../../client/client.ts';
import { memoryKeys } from '../../client/key-store.ts';
import type { CodeSample } from '../../lambdas/api-docs/samples.ts';
import { PROJECT } from '../../local/directories.ts';
import { findPython } from '../../local/python-environment.ts';
import { operations } from './described-api.ts';

const described = operations.map((operation) => ({
  ...operation,
  samples: operation['x-codeSamples'] ?? [],
}));
const sourcesIn = (lang: CodeSample['lang']) =>
  described.flatMap(({ samples }) => samples.flatMap((each) => (each.lang === lang ? [each.source] : [])));

const API = 'https://api.example';
const variables = Object.fromEntries(
  described
    .flatMap(({ parameters }) => parameters.flatMap(({ name }) => [name, `query_${name}`]))
    .concat('key', 'operator_key')
    .map((name) => [name, name]),
);
const REQUESTS = described.flatMap(({ samples, method, path }) =>
  samples.length === 0 ? [] : [`${method} ${API}${path.replaceAll(/\{(\w+)\}/g, '$1')}`],
);

const RUN_PYTHON = `
import json, sys, urllib.request
import payonce

class Sent(BaseException):
    pass

found = []

def send(method, url, *_):
    found.append(f"{method} {url}")
    raise Sent

Client = payonce.Client
payonce.Client = lambda *given, **options: Client(
    *given, **{**options, "surroundings": payonce.Surroundings(transport=send)}
)
payonce.FileKeys = lambda _folder: payonce.MemoryKeys()
urllib.request.urlopen = lambda request: send(request.method, request.full_url)
variables, sources = json.load(sys.stdin)
for source in sources:
    try:
        exec(source, dict(variables))
    except Sent:
        pass
print(json.dumps(found))
`;

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

  test('have valid shell syntax in curl', () => {
    const shell = sourcesIn('Shell');
    expect(shell.length).toBeGreaterThan(70);
    execFileSync('sh', ['-n'], { input: shell.join('\n') });
  });

  test('call, in curl, each operation at its path, with its method, required query parameters and keys', () => {
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

  test('send the described request of each operation in TypeScript', async () => {
    const found: string[] = [];
    const fetch = async (url: string, { method = '' }: RequestInit) => {
      found.push(`${method} ${url}`);
      return Response.json({ code: 'invalid_request' }, { status: 400 });
    };
    const sources = sourcesIn('TypeScript');
    expect(sources.filter((source) => source.includes('createClient({')).length).toBe(30);
    const values = Object.entries(variables).map(([name, value]) => [
      name.replaceAll(/_(\w)/g, (_text, letter: string) => letter.toUpperCase()),
      value,
    ]);
    const surroundings = {
      ...(Object.fromEntries(values) as Readonly<Record<string, string>>),
      api: API,
      fetch,
      fileKeys: memoryKeys,
      createClient: (options: Parameters<typeof createClient>[0]) =>
        createClient({ ...options, surroundings: { fetch } }),
      console: { log: () => undefined },
    };
    for (const source of sources) {
      const code = `(async () => {${source.replaceAll(/^import .*$/gm, '')}})()`;
      // The fake response is not from the API, so the client throws an error.
      await (runInNewContext(code, { ...surroundings }) as Promise<void>).catch(() => undefined);
    }
    expect(found.map(withoutQuery)).toEqual(REQUESTS);
  });

  test('send the described request of each operation in Python', async () => {
    const [python, ...first] = await findPython();
    const printed = execFileSync(python, [...first, '-B', '-c', RUN_PYTHON], {
      input: JSON.stringify([{ ...variables, api: API }, sourcesIn('Python')]),
      env: { ...process.env, PYTHONPATH: join(PROJECT, 'clients', 'python', 'src') },
      encoding: 'utf8',
    });
    expect((JSON.parse(printed) as string[]).map(withoutQuery)).toEqual(REQUESTS);
  });

  test('use a different operation name for each change, so that copied samples do not share an idempotency key; only the creations of payments and of orders have the same name', () => {
    const names = sourcesIn('Python').flatMap((source) => /operation="([^"]+)"/.exec(source)?.[1] ?? []);
    const ofOrder = names.filter((name) => name === 'order_42');
    expect(ofOrder).toHaveLength(2);
    expect(new Set(names).size).toBe(names.length - 1);
  });
});

function withoutQuery(request: string): string {
  return request.replace(/\?.*/, '');
}
