import type { Authority } from '../../lambdas/jobs/contract/jobs.ts';
import counted from './counted-paths.json' with { type: 'json' };
import type { Usage } from './prices.ts';

/** The billed usage of one payment, callback, event, webhook or run. */
export interface Path {
  readonly title: string;
  /** Assumptions in addition to the counts in counted-paths.json, in complete sentences. */
  readonly assumes: string;
  readonly usage: Usage;
}

/** Share of an execution that one message uses when a batch has ten messages. */
const BATCH_SHARE = 0.1;
/** A process takes tokens for eight requests with one write. */
const LIMIT_UNITS = 1 / 8;
/**
 * Assumed write units for the check that the Ledger has the predecessor of a copied row. The check is charged like a
 * write in a transaction.
 */
const PREDECESSOR_UNITS = 2;
const KILOBYTES_IN_GB = 1024 ** 2;
const BYTES_IN_GB = 1024 ** 3;
/**
 * Assumed log volumes in kilobytes. An execution is logged by Lambda and the function; a request is logged by the
 * gateway.
 */
const EXECUTION_LOG = 1.5;
const ACCESS_LOG = 0.4;

/**
 * Assumed time for process starts per execution, in seconds: one execution in a hundred starts a process, which takes
 * half a second. A start is charged like an execution (AWS Lambda, pricing).
 */
const START_SECONDS = 0.5 / 100;

/** @param seconds total duration of all executions */
function executions(megabytes: number, seconds: number, count = 1) {
  return { execution: count, gbSecond: gbSeconds(megabytes, seconds + count * START_SECONDS) };
}

function gbSeconds(megabytes: number, seconds: number): number {
  return (megabytes / 1024) * seconds;
}

/** @param memoryMb memory of the payments function */
function requestPath(title: string, writeUnits: number, memoryMb: number): Path {
  const usage = {
    gatewayRequest: 1,
    ...executions(memoryMb, 0.5),
    writeUnit: writeUnits + LIMIT_UNITS,
  };
  const assumes = `Half a second with ${memoryMb} MB.`;
  return { title, assumes, usage };
}

/**
 * @param consumers number of queues that every such event reaches, including the projector's
 * @param eventMemoryMb memory of the relay and of the projector
 */
function eventPath(
  title: string,
  { writeUnits, reads }: { readonly writeUnits: number; readonly reads: number },
  { consumers, eventMemoryMb }: Pick<PathSettings, 'consumers' | 'eventMemoryMb'>,
  seconds: number,
  share: number,
): Path {
  const others = consumers - 1;
  return {
    title,
    assumes: `The relay and the projector take ${seconds * 1_000} milliseconds each with ${eventMemoryMb} MB, other consumers with 256 MB. Each message costs three SQS requests${share < 1 ? '; ten messages share two of them' : ''}.`,
    usage: {
      busEvent: 1,
      queueRequest: consumers * (1 + 2 * share),
      execution: (1 + consumers) * share,
      gbSecond:
        executions(eventMemoryMb, 2 * seconds, 2 * share).gbSecond +
        executions(256, others * seconds, others * share).gbSecond,
      writeUnit: writeUnits,
      readUnit: reads,
    },
  };
}

/**
 * @param share the part of an execution that one webhook uses; also its part of a queue request that receives or
 * deletes messages
 */
function webhookPath(title: string, share: number): Path {
  const queueRequest = 1 + 2 * share;
  return {
    title,
    assumes: '0.3 seconds with 256 MB. SQS also charges for the fair queue.',
    usage: {
      queueRequest,
      fairRequest: queueRequest,
      ...executions(256, 0.3, share),
      writeUnit: counted.webhook.writeUnits,
      readUnit: counted.webhook.reads,
    },
  };
}

const COMMISSION_PATH: Path = {
  title: 'The commission of an affiliate',
  assumes: 'One more consumer, which takes 50 milliseconds with 256 MB. A receipt costs the same.',
  usage: {
    queueRequest: 3,
    ...executions(256, 0.05),
    writeUnit: counted.commission.writeUnits,
    readUnit: counted.commission.reads,
  },
};

export interface PathSettings {
  /** Memory of the payments function, in MB. */
  readonly memoryMb: number;
  /** Memory of the relay and of the projector, in MB. */
  readonly eventMemoryMb: number;
  /** Number of queues to which the event of each captured payment is delivered. */
  readonly consumers: number;
  /** The costs of a PostgreSQL database are not included. */
  readonly authority: Authority;
}

/** Tests counted the operations (counted-paths.json). */
export function pathsOf({ memoryMb, eventMemoryMb, consumers, authority }: PathSettings) {
  const { event, eventWithReference, callback } = counted;
  const isPostgres = authority === 'postgres';
  const units = ({ writeUnits, copyUnits }: typeof counted.payment): number => (isPostgres ? copyUnits : writeUnits);
  return {
    payment: requestPath('A request for a payment', units(counted.payment), memoryMb),
    paymentWithReference: requestPath('… with a reference', units(counted.paymentWithReference), memoryMb),
    paymentWithMetadata: requestPath(
      '… with a reference and 500 bytes of metadata',
      units(counted.paymentWithReferenceAndMetadata),
      memoryMb,
    ),
    callback: {
      title: 'A callback',
      assumes: `0.2 seconds with ${memoryMb} MB.`,
      usage: {
        gatewayRequest: 1,
        ...executions(memoryMb, 0.2),
        writeUnit: isPostgres ? callback.copyUnits + PREDECESSOR_UNITS : callback.writeUnits,
        readUnit: isPostgres ? 0 : callback.reads,
      },
    },
    event: eventPath('The event of a payment, under load', event, { consumers, eventMemoryMb }, 0.02, BATCH_SHARE),
    eventAlone: eventPath(
      'The event of a payment with a reference, alone',
      eventWithReference,
      { consumers, eventMemoryMb },
      0.03,
      1,
    ),
    commission: COMMISSION_PATH,
    webhook: webhookPath('A webhook, delivered at the first attempt', 1),
    webhookUnderLoad: webhookPath('A webhook, under load', BATCH_SHARE),
    email: {
      title: 'An order confirmation or a receipt by e-mail',
      assumes: 'Without the price of the mail service.',
      usage: { writeUnit: 1 },
    },
    reconciling: reconcilingPath(memoryMb),
    run: {
      title: 'A run of a job that finds nothing to do',
      assumes: `The executor and the jobs API take 0.1 seconds each with 256 MB, the worker 0.2 seconds with ${memoryMb} MB.`,
      usage: {
        firing: 1,
        gatewayRequest: 1,
        queueRequest: 3,
        execution: 3,
        gbSecond: executions(256, 0.2, 2).gbSecond + executions(memoryMb, 0.2).gbSecond,
        writeUnit: counted.run.writeUnits,
        readUnit: counted.run.reads + counted.idleReads,
      },
    },
  } as const satisfies Readonly<Record<string, Path>>;
}

/** @param memoryMb memory of the worker */
function reconcilingPath(memoryMb: number): Path {
  const { payments, chains, queries, pages, seconds } = counted.reconciling;
  return {
    title: "The comparisons of a payment with the processor's books",
    assumes: `Each payment is compared once within the hour and in seven nightly runs. Assumes ${payments / 1_000_000} million payments a month (docs/proof/benchmarks.md), and ${memoryMb} MB of memory.`,
    usage: {
      gbSecond: gbSeconds(memoryMb, seconds) / payments,
      writeUnit: (pages * counted.run.writeUnits) / payments,
      readUnit: (chains + 2 * queries) / payments,
    },
  };
}

export function logsOf({ usage: { execution = 0, gatewayRequest = 0 } }: Path): Usage {
  return { loggedGb: (execution * EXECUTION_LOG + gatewayRequest * ACCESS_LOG) / KILOBYTES_IN_GB };
}

/** The payment has a reference, an event and one webhook. Copies in indexes are not included. */
export function bytesPerPayment(authority: Authority = 'dynamodb'): Readonly<Record<string, number>> {
  const grown = new Map<string, number>();
  const { paymentWithReference, eventWithReference, webhook } = counted;
  const copied = { storedBytes: { Ledger: paymentWithReference.storedBytes.Ledger } };
  const payment = authority === 'postgres' ? copied : paymentWithReference;
  for (const { storedBytes } of [payment, eventWithReference, webhook])
    for (const [table, bytes] of Object.entries(storedBytes)) grown.set(table, (grown.get(table) ?? 0) + bytes);
  return Object.fromEntries(grown);
}

/** A line, which is DynamoDB JSON, has about twice the bytes of its row. */
export function archivedGb(payments: number): number {
  return (2 * (bytesPerPayment()['Ledger'] ?? 0) * payments) / BYTES_IN_GB;
}

export function addedStorageGb(payments: number, authority: Authority): number {
  return (Object.values(bytesPerPayment(authority)).reduce((sum, bytes) => sum + bytes, 0) * payments) / BYTES_IN_GB;
}
