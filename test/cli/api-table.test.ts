import { describe, expect, test } from '@jest/globals';
import { Option } from 'commander';
import { type ApiCommand, fieldOf, linesOf, NOT_SENT } from '../../cli/api-command.ts';
import { ANNOTATE, API_COMMANDS } from '../../cli/api-table.ts';
import { type DescribedOperation, operations } from '../api-docs/described-api.ts';

const commands: readonly (readonly [words: string, command: ApiCommand])[] = [
  ...Object.entries(API_COMMANDS).flatMap(([group, of]) =>
    Object.entries(of).map(([words, command]) => [`${group} ${words}`, command] as const),
  ),
  ['annotate <payment>', ANNOTATE],
];

function operationOf({ calls }: ApiCommand): DescribedOperation {
  const operation = operations.find(({ method, path }) => calls === `${method} ${path}`);
  if (operation === undefined) throw new Error(`The API has no operation ${calls}`);
  return operation;
}

const fieldsOf = (flags: ApiCommand['options'] = []): readonly string[] =>
  flags
    .map(([option]) => new Option(option).attributeName())
    .filter((name) => !NOT_SENT.includes(name))
    .map(fieldOf);

describe.each(commands)('payonce %s', (words, command) => {
  const { parameters, requestBody, responses } = operationOf(command);
  const body = requestBody?.content['application/json'].schema as
    | { readonly properties: object; readonly required?: readonly string[] }
    | undefined;

  test('has one argument for each path parameter', () => {
    const inPath = parameters.filter((parameter) => parameter.in === 'path');
    expect(words.match(/<\w+>|\[\w+\]/g) ?? []).toHaveLength(inPath.length);
  });

  test('has options only for fields of its operation, and requires each required field', () => {
    const inQuery = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
    const known = [...inQuery, ...Object.keys(body?.properties ?? {})];
    expect(known).toEqual(expect.arrayContaining([...fieldsOf(command.required), ...fieldsOf(command.options)]));
    expect(fieldsOf(command.required)).toEqual(expect.arrayContaining([...(body?.required ?? [])]));
  });

  test('accepts a tenant from an operator only if its API operation accepts a tenant', () => {
    const isDescribed = parameters.some(({ name }) => name === 'Payonce-Tenant');
    expect(command.forTenant !== true || isDescribed).toBe(true);
  });

  if ('lines' in command)
    test('prints each example response of the API without undefined values', () => {
      const [answer] = Object.entries(responses).flatMap(([status, response]) =>
        status.startsWith('2') ? Object.values(response.content) : [],
      );
      const examples = Object.values(answer?.examples ?? {});
      expect(examples).not.toEqual([]);
      for (const { value } of examples)
        expect(linesOf(command.lines, value).join('\n')).not.toMatch(/undefined|NaN|\[object/);
    });
});
