import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import ts from 'typescript';
import { ExportsEnvironment } from '../../lambdas/exports/contract.ts';
import { IntakeEnvironment } from '../../lambdas/intake/contract.ts';
import { TargetEnvironment } from '../../lambdas/jobs/contract/job-targets.ts';
import {
  Environment,
  POWERTOOLS_IDEMPOTENCY_DISABLED,
  PROJECTOR_QUEUE_URL,
  RELAY_PARKING_QUEUE_URL,
  SandboxEnvironment,
} from '../../lambdas/kernel/contract/environment.ts';
import { systemPlatform } from '../../lambdas/kernel/platform/system-platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { MESSAGE_QUEUES } from '../../lambdas/operators/contract.ts';
import { PartiesEnvironment } from '../../lambdas/orders/contract.ts';

const FUNCTIONS = [...globSync('lambdas/functions/*.ts'), 'sandbox/handler.ts'].sort();
const READ_ONLY = ['api-documents.ts', 'audit.ts', 'reads.ts'];
/** `api-documents.ts` reads only its own files, and tests simulate the sandbox without its handler. */
const WITHOUT_PLATFORM = ['api-documents.ts', 'handler.ts'];
const EXCEPTION = '/** Not wrapped in `idempotently`, because this function only reads. */';
const WRAPPED = FUNCTIONS.filter((file) => !READ_ONLY.includes(basename(file)));

interface Export {
  readonly name: string;
  /** Includes the leading comment. */
  readonly text: string;
  readonly value: ts.Expression | undefined;
}

function exportsOf(file: string): readonly Export[] {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);
  return source.statements.flatMap((statement): readonly Export[] => {
    if (ts.isExportAssignment(statement) || ts.isExportDeclaration(statement)) {
      return [{ name: '?', text: statement.getFullText(), value: undefined }];
    }
    const modifiers = ts.canHaveModifiers(statement) ? ts.getModifiers(statement) : undefined;
    if (modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) !== true) return [];
    const text = statement.getFullText();
    if (ts.isFunctionDeclaration(statement)) return [{ name: statement.name?.text ?? '?', text, value: undefined }];
    if (!ts.isVariableStatement(statement)) return [{ name: '?', text, value: undefined }];
    const { declarations } = statement.declarationList;
    return declarations.map(({ name, initializer }) => ({ name: name.getText(), text, value: awaited(initializer) }));
  });
}

function awaited(value: ts.Expression | undefined): ts.Expression | undefined {
  return value !== undefined && ts.isAwaitExpression(value) ? value.expression : value;
}

function faultsOf(value: ts.Expression | undefined): readonly string[] {
  if (value === undefined || !ts.isCallExpression(value) || value.expression.getText() !== 'idempotently') {
    return ['the handler is not the result of idempotently(…)'];
  }
  const [work, build] = value.arguments;
  const faults: string[] = [];
  const texts = work !== undefined && ts.isObjectLiteralExpression(work) ? work.properties : [];
  for (const name of ['unit', 'record']) {
    const property = texts.find((each) => each.name?.getText() === name);
    const isStated =
      property !== undefined && ts.isPropertyAssignment(property) && ts.isStringLiteral(property.initializer);
    if (!isStated) faults.push(`${name} is not stated`);
  }
  if (build === undefined || !ts.isArrowFunction(build)) return [...faults, 'nothing is built'];
  const [runner] = build.parameters;
  const name = runner?.name.getText();
  if (name === undefined || !usesName(build.body, name)) faults.push('the runner is not used');
  return faults;
}

function usesName(node: ts.Node, name: string): boolean {
  if (ts.isIdentifier(node) && node.text === name) return true;
  return ts.forEachChild(node, (child) => usesName(child, name)) ?? false;
}

test('the function files are found', () => {
  expect(FUNCTIONS.length).toBeGreaterThan(18);
});

test('each function is deployed by one construct', () => {
  const deployed = globSync('lib/**/*.ts').flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/\bfolder: '([\w-]+)'/g)].map(([, name]) => name),
  );
  const folders = FUNCTIONS.map((file) =>
    file === 'sandbox/handler.ts' ? 'sandbox-processor' : basename(file, '.ts'),
  );
  expect(new Set(deployed)).toEqual(new Set(folders));
  expect(deployed).toHaveLength(folders.length);
});

describe.each(FUNCTIONS)('%s', (file) => {
  test('exports its handler and, with two exceptions, a function that wires the handler to a platform', () => {
    const names = exportsOf(file).map(({ name }) => name);
    expect(names).toEqual(WITHOUT_PLATFORM.includes(basename(file)) ? ['handler'] : ['handler', 'wire']);
  });

  test('runs its unit of work through idempotently(), or states that it only reads', () => {
    const [handler] = exportsOf(file);
    const isException = handler?.text.includes(EXCEPTION) === true;
    expect(isException).toBe(READ_ONLY.includes(basename(file)));
    expect(isException ? [] : faultsOf(handler?.value)).toEqual([]);
  });
});

describe('the handler check', () => {
  const faultsIn = (text: string) => {
    const source = ts.createSourceFile('x.ts', `const x = ${text};`, ts.ScriptTarget.Latest, true);
    const [statement] = source.statements;
    if (statement === undefined || !ts.isVariableStatement(statement)) throw new Error('the statement has no value');
    return faultsOf(statement.declarationList.declarations[0]?.initializer);
  };

  test.each([
    ['jobsApi({ runner })', 'the handler is not the result of idempotently(…)'],
    ['idempotently({ unit: "a run", record: "its row" }, () => worker(tools))', 'the runner is not used'],
    ['idempotently({ unit: "a run", record: "its row" }, (runner) => worker(tools))', 'the runner is not used'],
    ['idempotently({ unit: "a run" }, (runner) => worker({ runner }))', 'record is not stated'],
  ])('reports the fault in %s', (text, fault) => {
    expect(faultsIn(text)).toEqual([fault]);
  });

  test('accepts a wrapped handler', () => {
    expect(faultsIn('idempotently({ unit: "a run", record: "its row" }, (runner) => worker({ runner }))')).toEqual([]);
  });
});

describe('each function', () => {
  const queue = 'https://sqs.eu-west-1.amazonaws.com/1/queue';
  const good: Readonly<Record<string, string>> = {
    AWS_REGION: 'eu-west-1',
    [Environment.idempotencyTable]: 'Idempotency',
    [Environment.ledgerTable]: 'Ledger',
    [Environment.registryTable]: 'Registry',
    [Environment.tenantLimit]: '{"rate":100,"burst":200}',
    [Environment.viewsTable]: 'Views',
    PROCESSOR_URL: 'https://processor.example',
    PROCESSOR_SIGNING_KEY_SECRET_ID: 'a-key',
    [Environment.callbackSources]: '[]',
    [Environment.eventBus]: 'bus',
    [Environment.archiveBucket]: 'payonce-archive',
    [Environment.lostAfterSeconds]: '180',
    [Environment.parkingQueueUrl]: queue,
    [PROJECTOR_QUEUE_URL]: queue,
    [RELAY_PARKING_QUEUE_URL]: queue,
    [MESSAGE_QUEUES]: JSON.stringify({ at: queue, tasks: {}, received: {}, kept: {}, functions: {} }),
    [Environment.webhookTasksQueueUrl]: queue,
    [Environment.webhookLanesQueueUrl]: queue,
    [Environment.webhookRootSecretId]: 'root',
    [Environment.emailKeysSecretId]: 'email-keys',
    [Environment.webhookLoopback]: 'false',
    [Environment.jobCredentialSecretId]: 'credential',
    [Environment.apiUrl]: 'https://api.example',
    [ExportsEnvironment.bucket]: 'exports',
    [ExportsEnvironment.writer]: 'export-writer',
    AWS_LAMBDA_FUNCTION_NAME: 'export-writer',
    [Environment.deploymentSettings]: '{}',
    [IntakeEnvironment.settings]: '{"oldestHours":24,"senders":[],"queues":[]}',
    [IntakeEnvironment.queueUrl]: queue,
    [Environment.paymentJobsQueueUrl]: queue,
    [Environment.upkeepJobsQueueUrl]: queue,
    [Environment.listedJobs]: '[]',
    [TargetEnvironment.targets]: '{}',
    [TargetEnvironment.queueUrl]: queue,
    [TargetEnvironment.missedQueueUrl]: queue,
    [SandboxEnvironment.sandboxTable]: 'Sandbox',
    [SandboxEnvironment.sandboxTasksQueueUrl]: queue,
    [SandboxEnvironment.sandboxSecretId]: 'sandbox',
    [SandboxEnvironment.callbackAddressParameter]: 'address',
    [PartiesEnvironment.sandboxSecretId]: 'sandbox-secret',
    [PartiesEnvironment.shopUrl]: 'https://shop.example',
    [PartiesEnvironment.postmarkUrl]: 'https://mail.example',
    [PartiesEnvironment.emailSender]: 'shop@example.com',
    [PartiesEnvironment.emailsPerRecipient]: '20',
    [PartiesEnvironment.deadLettersQueueUrl]: queue,
    [PartiesEnvironment.delayedCallsQueueUrl]: queue,
  };
  const before = { ...process.env };

  beforeAll(() => void Object.assign(process.env, good));
  afterAll(() => {
    process.env = before;
  });

  /** Imports the module of a function again, as a new Lambda process does. */
  const start = (file: string, how: string): Promise<unknown> => import(`../../${file}?${how}`);

  test.each(WRAPPED.filter((each) => !WITHOUT_PLATFORM.includes(basename(each))))(
    '%s reads the retention of the platform if it reads the name of the idempotency table',
    async (file) => {
      const { wire } = (await import(`../../${file}`)) as { wire: (platform: unknown, runner: unknown) => unknown };
      const asked: PropertyKey[] = [];
      const noting = <Value extends object>(of: Value, otherwise?: unknown): Value =>
        new Proxy(of, {
          get: (target, name) => {
            asked.push(name);
            return name in target ? (Reflect.get(target, name) as unknown) : otherwise;
          },
        });
      const client = () => ({});
      const platform = { ...systemPlatform(), variables: noting(good), sqs: client, retention: { default: 1 } };

      await wire(noting(platform, client), idempotentRunner);

      const writesRecords = asked.includes(Environment.idempotencyTable);
      expect(asked.includes('retention') || !writesRecords).toBe(true);
    },
  );

  test.each(WRAPPED)('%s refuses to start when idempotency is disabled', async (file) => {
    process.env[POWERTOOLS_IDEMPOTENCY_DISABLED] = 'true';
    try {
      await expect(start(file, 'disabled')).rejects.toThrow(`${POWERTOOLS_IDEMPOTENCY_DISABLED} is set`);
    } finally {
      delete process.env[POWERTOOLS_IDEMPOTENCY_DISABLED];
    }
  });

  test.each(FUNCTIONS)('%s starts with its deployed settings, without waiting for a network call', async (file) => {
    expect(await start(file, 'started')).toEqual(expect.objectContaining({ handler: expect.any(Function) }));
  });
});
