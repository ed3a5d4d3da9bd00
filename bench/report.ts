import { cpus } from 'node:os';
import { regionRows } from '../lib/region-quotas.ts';
import { eventCpuTable } from '../test/bench/bench-event-rate.ts';
import type { PathCost } from './paths.ts';
import { sharesTable } from './profile.ts';
import { type Measured, missesOf, type Result, resultsTable } from './results.ts';
import type { SkeletonTime, SpeedRatio } from './speed.ts';

export interface Measurements extends Measured {
  readonly engine: readonly PathCost[];
  readonly capacity: string;
  readonly reconciling: string;
  readonly events: string;
  readonly needs: string;
  readonly quotas: string;
  readonly byHand: PathCost;
  readonly skeleton: SkeletonTime;
  readonly overhead: readonly SpeedRatio[];
}

/** @param results the content of `bench/results.json` */
export function report(measurements: Measurements, results: readonly Result[]): string {
  const {
    engine,
    capacity,
    reconciling,
    eventCpu,
    events,
    needs,
    quotas,
    byHand,
    skeleton,
    overhead,
    throughput,
    authority,
    weight,
    start,
    warm,
    profiles,
  } = measurements;
  return `# Benchmarks

Written by \`npm run bench\` on ${machine()}. Counts are DynamoDB's own (\`ReturnConsumedCapacity\`, indexes included), as the local emulator
counts them; they are the same on every machine. Ratios are medians of alternating rounds, in one run on one store without Streams, so the speed of the machine cancels out.
Ratios of times include the local DynamoDB, which shares the machine; ratios of CPU times do not. The CPU times of events, and the rates and needs that are computed from them, depend on the machine.

## Goals

\`bench/results.json\` has the same values. "Peer" is the same measurement of plain Powertools; for a refund, a query and a claim; for the files, a bundle without chunks; for a page of a list, a list without filters; with PostgreSQL, rocket-rides.

${resultsTable(results)}

${missesOf(measurements)}

[Why not just …?](comparison.md) compares Payonce with other programs that take a payment.

## What a payment costs

| path | outcome | calls | durable writes | request units |
|---|---|---|---|---|
${rows(engine, costCells)}

Budgets: a first execution is two durable writes and at most 11 write units, 13 with a reference or a hold. A rejected call does not report its cost. DynamoDB charges it for the items whose conditions failed: here two items
of at most one kilobyte, 4 units (three items and 6 units with a reference).

## One tenant at 1,000 payments a second

Each payment has a reference, and the tenant has one webhook endpoint. Write units from the rows that the real stores write to DynamoDB in memory, indexes included.
\`test/bench/hot-partitions.test.ts\` counts them and checks the limits. A partition takes 1,000 write units a second. A \`receipt_email\`
adds one unit to the row of a payment's notes, for its index.

${capacity}

A page of a list takes four queries, its goal, and two reads by key for each object. A page of deliveries takes eight queries.

The goal for the deliveries of one endpoint is 1,000 a second. Its busiest partition has room for 2,398. Twenty senders with ten calls each make 1,000 a second if the receiver answers within 0.2 seconds, and 667 at 0.3.

## Higher rates

The setting \`peakRates\` spreads hot rows for up to 40,000 payments a second in total and 6,400 for one tenant. At 20,000 and 5,000, no partition gets more than 500 write units a second (\`test/bench/peak-partitions.test.ts\`):
open claims have 100 partitions instead of 32, recent outcomes 50 instead of 8, each queue and due webhooks 100 instead of 8, the deliveries of an endpoint 38 instead of 8, and each partition of a tenant's lists four parts.
A run of a job makes one query for each partition of a queue, so these numbers cost reads also when nothing is due. \`throttlingRate\` admits up to 50,000 requests a second, with a higher quota of API Gateway.

These limits remain:

- **Webhooks of one tenant**: an event reads the row with the tenant's endpoints twice, and a partition takes 3,000 read units a second, so one tenant gets at most 1,500 deliveries a second, and all tenants as many as the senders above. Later deliveries wait in the queue.
  A tenant with more events consumes them from the bus ([events](../guides/events.md)) instead of webhooks.
- **The rate limit of one tenant** is one row. While half of the burst is left, 5,000 requests a second write it 625 times. With less, each process writes it up to once a second. From 1,000 writes a second DynamoDB throttles the row, and the API then admits requests without counting them
  ([0065](../design/decisions/0065-limits-per-tenant.md)). Give such a tenant a burst of twice its rate.
- **Executions**: the relay scales with the shards of the Stream, but projector and senders have a fixed number of executions (below). What is beyond their rate waits in their queues, so lists and webhooks fall behind at a rate that lasts.
- **Late events**: the projector reads the total of a day for each event that it gets after the end of that day, so it catches up with at most 3,000 events a second of one tenant.

## Events in a second

CPU time that each function's process needs for the outcome of a payment with a reference and one webhook endpoint: the bundles of a
deployment, warm, with batches of the deployed size and with a server that answers immediately in the place of AWS and of the receiver. Medians of new
processes, on one core.

${eventCpuTable(eventCpu)}

The relay and the projector with the settings of the stacks, at these CPU times on the CPU share that comes with the memory, and with 5 milliseconds of waiting for DynamoDB and 40 for the bus.
\`test/bench/event-rate.test.ts\` counts the calls, reads the settings and computes the rates. Executions are written as "concurrent × batch". The relay's are lanes of one shard of the Stream, and a busy table has several. The goal is 2,000.
Each event is published and projected once, after an hour without the projector and after three without the bus, and none is dead-lettered
for waiting; after an hour without the relay, the job and the relay may both publish an event, and it is projected once (\`test/world/simulator/outage.test.ts\`).

${events}

## What 1,000 payments a second need

Each payment has one event and one webhook. Cores follow from the CPU times that this run measured. Executions at once also wait: 300 milliseconds for the processor, 200 for the receiver of the
webhook, 5 for DynamoDB, 40 for the bus, and they have the CPU share that comes with the default memory.

${needs}

Each of these default quotas of an account alone would admit this many payments per second. A new account can have a quota of ten concurrent executions. A new
table takes 4,000 write units per second until it has grown; \`warmWriteUnits\` raises this in advance. Service Quotas raises all of them.

${quotas}

## Quotas by region

What AWS admits with the default quotas of an account, computed from the documents of [EventBridge](https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html) and [API Gateway](https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html). Every event goes to two queues, the lists and the webhooks, and each counts as an invocation;
the bridge of NATS is a third. EventBridge delays events beyond the quota. \`payonce doctor\` compares \`throttlingRate\` (at most 50,000) with both.

| region | events/s | requests/s |
|---|---|---|
${regionRows().join('\n')}

## Comparing ten million payments a month

One live account at Stripe, payments at an even rate, each with an outcome. \`test/bench/reconcile.test.ts\` counts the pages of work and the calls on lists as Stripe returns them; the
table is computed from these counts. A page of work takes 1.4 seconds, mostly for up to four concurrent lists, and 10 milliseconds for the chain of each payment, eight at once.
The limit is half of the interval. An hour without payments costs eleven reads and one list.

${reconciling}

A payment whose charge does not agree with the Ledger costs a search and its charges more, and one whose charge is of an earlier hour one read.

## What the skeleton costs

A payment through \`executeOnce\` and Powertools' \`makeIdempotent\`, and the same claim, charge and commit called directly. The
difference of time is measured in alternating order, with a DynamoDB that answers immediately, and divided by the time of a payment on the local DynamoDB.

| path | calls | durable writes | request units | time |
|---|---|---|---|---|
${rows([byHand, ...engine.slice(0, 1)], (cost) => [
  cost.path,
  cost.calls,
  cost.durableWrites,
  cost.units ?? 'refused',
  cost === byHand ? '1.000' : (1 + skeleton.addedMs / skeleton.paymentMs).toFixed(3),
])}

The budget is no call, no write unit, and 2 % of the time.

## Overhead

One payment after another through the engine, without a handler, with a processor that responds immediately. "CPU" is of the process that pays, and "emulator" is the CPU time of the local DynamoDB.

| engine / other | goal of the time | time | CPU | emulator |
|---|---|---|---|---|
${rows(overhead, ({ subject, ...spent }) => [subject, '1.15', ...ratioCells(spent)])}

\`test/payments/budgets.stores.test.ts\` holds the calls and writes.

## Throughput

The same with 32 payments in flight.

| engine / other | time of a payment | CPU | emulator |
|---|---|---|---|
${rows(throughput, ({ subject, ...spent }) => [subject, ...ratioCells(spent)])}

## With PostgreSQL as the authority

The same payment, with the rows on a local PostgreSQL server without \`fsync\`, over four connections, and with their copy in DynamoDB before the response. rocket-rides, the program of
[the comparison](comparison.md) without HTTP, keeps a transaction open during the call of the processor. Ratios are to Payonce with DynamoDB.

| program | statements | calls of DynamoDB | CPU | time, one at a time | time, 32 in flight |
|---|---|---|---|---|---|
${rows([authority.dynamodb, authority.postgres, authority.rocketRides], ({ program, statements, calls, ...ratios }) => [
  program,
  statements,
  calls,
  ...[ratios.cpuRatio, ratios.timeRatio, ratios.throughputRatio].map((ratio) => ratio.toFixed(2)),
])}

A duplicate of an effect that waits for the row of the first gets its response ${authority.duplicateMs.toFixed(1)} ms after the start of the commit (median). With DynamoDB, it gets \`409\` or asks again.

A new process replays with ${roundTrips(authority.coldReplay.cached)} with \`ReplayCache\`, and with ${roundTrips(authority.coldReplay.uncached)} without it.

## The start and the weight

| function | goal | minified kB |
|---|---|---|
${rows([...weight.kilobytes], ([name, size]) => [name, name === 'payments' ? '400' : '', size.toFixed(0)])}

CPU time of the payments function with the sandbox, relative to a Powertools handler with zod that takes the same payment (new processes, medians): import ${start.importToPowertools.toFixed(2)}, a payment of a warm process ${warm.toPowertools.toFixed(2)}. The server plays DynamoDB, Secrets Manager and the processor, so that only the programs differ.

Where the CPU time goes, by the owner of the code that runs (V8's sampling profiler): the import of the payments function, a process that pays many times, and a process of the projector that handles many events, both with their imports. "Compilation" is of modules, by V8; the rest of V8 is mostly garbage collection.

${sharesTable(profiles)}

Schemas of rows are built when a row is first read. Source maps, other processors' packages, the code of tracing, JSON
schemas and the client of Secrets Manager ([0160](../design/decisions/0160-secrets-at-first-use.md)) are not read at the start.
`;
}

function roundTrips({ statements, calls }: { readonly statements: number; readonly calls: number }): string {
  return `${statements} statement${statements === 1 ? '' : 's'} and ${calls} call${calls === 1 ? '' : 's'}`;
}

function machine(): string {
  const cores = cpus();
  return `a machine with ${cores.length} cores (${cores[0]?.model ?? 'unknown'})`;
}

function ratioCells({ timeRatio, cpuRatio, emulatorRatio }: Omit<SpeedRatio, 'subject'>): readonly string[] {
  // Only Linux reports the CPU time of the emulator, and in a short run it may be 0.
  return [timeRatio, cpuRatio, emulatorRatio].map((ratio) => (Number.isFinite(ratio) ? ratio.toFixed(2) : ''));
}

function costCells({ path, outcome, calls, durableWrites, units }: PathCost): readonly (string | number)[] {
  return [path, outcome, calls, durableWrites, units ?? 'refused'];
}

function rows<Row>(items: readonly Row[], cells: (item: Row) => readonly (string | number)[]): string {
  return items.map((item) => `| ${cells(item).join(' | ')} |`).join('\n');
}
