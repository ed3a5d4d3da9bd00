import { describe, expect, test } from '@jest/globals';
import { findViolations } from '../../lib/policies/payonce-rules.ts';
import { readSettings } from '../../lib/settings.ts';
import { synthesize } from '../support/synth.ts';
import { present, statementsByOwner } from './templates.ts';
import { testApp } from './test-app.ts';

const STREAM = 'arn:aws:dynamodb:eu-west-1:111122223333:table/Ledger-r1/stream/2026-03-01T12:00:00.000';
const TABLES = {
  idempotency: 'Idempotency-r1',
  ledger: 'Ledger-r1',
  ledgerStream: STREAM,
  registry: 'Registry-r1',
  views: 'Views-r1',
};

const stacks = await synthesize({ 'payonce:restoredTables': JSON.stringify(TABLES), 'payonce:claimsLost': 'true' });

describe('adopted tables from a restore', () => {
  const data = present(stacks.data);
  const service = present(stacks.service);
  const variables = Object.values(service.findResources('AWS::Lambda::Function')).map(
    ({ Properties }) => (Properties as { Environment?: { Variables: Record<string, unknown> } }).Environment?.Variables,
  );

  test('replace the declared tables in the variables of every function', () => {
    const named = (name: string) => [
      ...new Set(variables.flatMap((each) => (each?.[name] === undefined ? [] : [each[name]]))),
    ];
    expect(named('IDEMPOTENCY_TABLE')).toEqual([TABLES.idempotency]);
    expect(named('LEDGER_TABLE')).toEqual([TABLES.ledger]);
    expect(named('REGISTRY_TABLE')).toEqual([TABLES.registry]);
    expect(named('VIEWS_TABLE')).toEqual([TABLES.views]);
    expect(named('CLAIMS_LOST')).toEqual(['true']);
  });

  test('replace the declared tables in every policy, in the outputs and on the dashboard', () => {
    const ofDynamoDb = [...statementsByOwner(service).values()]
      .flat()
      .filter(({ Action }) => [Action].flat().some((action) => action.startsWith('dynamodb:')))
      .flatMap(({ Resource }) => [Resource].flat());
    expect(ofDynamoDb.length).toBeGreaterThan(50);
    for (const resource of ofDynamoDb) expect(JSON.stringify(resource)).toMatch(/table\/\w+-r1|\/stream\/|"\*"/);
    const outputs = JSON.stringify(data.findOutputs('*'));
    for (const name of [TABLES.idempotency, TABLES.ledger, TABLES.registry, TABLES.views]) {
      expect(outputs).toContain(`"${name}"`);
      expect(JSON.stringify(service.findResources('AWS::CloudWatch::Dashboard'))).toContain(name);
    }
  });

  test('add resources to the data stack; otherwise, CloudFormation would skip the deployment and not update the outputs', () => {
    expect(Object.keys(data.findResources('AWS::CloudFormation::WaitConditionHandle'))).toHaveLength(4);
  });

  test('give the relay only the Stream of the restored Ledger', () => {
    const mappings = JSON.stringify(service.findResources('AWS::Lambda::EventSourceMapping'));
    expect(mappings.split('/stream/')).toHaveLength(2);
    expect(mappings).toContain(STREAM);
  });

  test('leave the declared tables retained in their stack', () => {
    const tables = Object.values(data.findResources('AWS::DynamoDB::Table'));
    expect(tables).toHaveLength(4);
    for (const table of tables) expect(table).toMatchObject({ UpdateReplacePolicy: 'Retain' });
  });

  test('include a Ledger to which the append-only rule applies', () => {
    expect(findViolations(service.toJSON() as Parameters<typeof findViolations>[0])).toEqual([]);
    const arn = { 'Fn::Join': ['', ['arn:aws:dynamodb:eu-west-1:111122223333:table/', TABLES.ledger]] };
    const Statement = [{ Effect: 'Allow' as const, Action: 'dynamodb:UpdateItem', Resource: arn }];
    const policy = { Type: 'AWS::IAM::Policy', Properties: { PolicyDocument: { Statement } } };
    expect(findViolations({ Resources: { policy } }).map(({ rule }) => rule.name)).toEqual(['LedgerIsAppendOnly']);
  });
});

test.each([
  ['a text that is not JSON', '{'],
  ['an empty object', {}],
  ['an unknown table', { books: 'Books-r1' }],
  ['an invalid name', { registry: 'a b c' }],
  ['a Ledger without its Stream', { ledger: TABLES.ledger }],
  ['a Stream without a Ledger', { ledgerStream: STREAM }],
  ['the Stream of another table', { ledger: 'Ledger-r2', ledgerStream: STREAM }],
  ['a Ledger with an unrecognizable name', { ledger: 'Books-r1', ledgerStream: STREAM.replace('Ledger', 'Books') }],
])('the setting restoredTables with %s stops the synthesis, and the error names the allowed values', (_what, given) => {
  const { node } = testApp({ 'payonce:restoredTables': typeof given === 'string' ? given : JSON.stringify(given) });
  expect(() => readSettings(node)).toThrow(
    /^payonce:restoredTables is .*, but must be a JSON object that maps idempotency/,
  );
});
