import type { Comparison } from './compare.ts';
import type { History, Trial } from './kill-test.ts';

type Count = 'charges' | 'answers' | 'events' | 'effects';

const TITLES: Readonly<Record<History['trouble'], string>> = {
  kill: 'Killed at each call',
  duplicate: 'Sent twice at each call',
};

/** The counts do not depend on the speed of the machine. */
export function comparisonPage({ trials, units }: Comparison): string {
  return `# Why not just …?

Written by \`npm run bench -- compare\`. Five ways to take a payment, under the same kill test.

- **naive**: a handler on DynamoDB that looks for its key, charges, posts, publishes an event and saves the answer ([naive.ts](../../bench/subjects/naive.ts)).
- **Powertools**: the same inside \`makeIdempotent\` with the DynamoDB layer, as its documents show ([powertools.ts](../../bench/subjects/powertools.ts)). They say nothing about the processor, so a second row also sends the key to the processor.
- **rocket-rides**: a transaction for each phase on PostgreSQL, with recovery points, a staged job and a key for the processor, as in [the article](https://brandur.org/idempotency-keys) ([rocket-rides.mjs](../../bench/peers/rocket-rides.mjs)).
- **DBOS**: a workflow on PostgreSQL whose id is the key, with the charge and the event as steps and the posting as a transaction ([dbos.mjs](../../bench/peers/dbos.mjs)). The charge has a key for the processor. Its data source, which runs the transaction on \`pg\`, is our own, written to the interface of the SDK.
- **Payonce**: the payments function, as it is deployed.

Each program runs in a process of its own and reaches its database, the processor and the bus through proxies that count its calls. A history stops one call of one payment: before the service gets it, or after the service has applied it and before the process gets the answer. There is one history for each call and side. The result for a payment should be one charge, one answer to all its requests, one event and one effect (a posting).

## ${TITLES.kill}

The process ends with \`SIGKILL\`. Its client sends the same request again until it gets a final answer, to a new process whose clock is two minutes ahead, so that leases have expired, and then once more.

${table(trials, 'kill')}

## ${TITLES.duplicate}

The process is held at the call while another process gets the same request, and then continues. A client that gets a conflict or a failure sends the request again, at most six times. Without a final answer, the number of answers is 0.

${table(trials, 'duplicate')}

"1 to 2 (3 wrong)": the smallest count is 1, the largest is 2, and in 3 histories it is not 1. An event counts when it is sent to the bus or committed for a relay; a relay can send it again, and a consumer recognizes its id. The repeated events of DBOS have one id, too.

## What a payment costs

| program | durable writes | request units of DynamoDB | CPU time of the process / the naive handler’s |
|---|---|---|---|
${trials.map((each) => `| ${costCells(each, units, trials[0]).join(' | ')} |`).join('\n')}

A warm process pays one payment after another. Durable writes are writing calls of DynamoDB or writing transactions of PostgreSQL. Payonce’s function also authenticates the key, limits the tenant’s rate and validates the body; the others do not.

## What each is better at

- **naive**: it has the fewest lines and calls, and is enough where a repetition does no harm.
- **Powertools**: it adds idempotency to any Lambda function in a few lines, and suits effects that are one idempotent call.
- **rocket-rides**: your own tables change in the same transaction as the key, without a library, on a database that you can query.
- **DBOS**: it makes any workflow durable in ordinary code, with queues, schedules and timers, and needs nothing but PostgreSQL.
- **Payonce**: it takes payments only, with the states, books, callbacks, refunds and operators that they need, and without a server.

A process that is killed is one of many troubles. [Naive against Payonce](../start/demo.md) shows callbacks, events and refunds, and the [simulator](simulator.md) plays them at random against Payonce.
`;
}

function costCells(
  { name, writes, cpuMs }: Trial,
  units: Comparison['units'],
  naive: Trial | undefined,
): readonly (string | number)[] {
  return [name, Number(writes.toFixed(1)), units.get(name) ?? '', (cpuMs / (naive?.cpuMs ?? Number.NaN)).toFixed(1)];
}

function table(trials: readonly Trial[], trouble: History['trouble']): string {
  const rows = trials.map(({ name, histories }) => {
    const of = histories.filter((each) => each.trouble === trouble);
    const counts = (['charges', 'answers', 'events', 'effects'] as const).map((count) => cell(of, count));
    return `| ${[name, of.length, ...counts].join(' | ')} |`;
  });
  return ['| program | histories | charges | answers | events | effects |', '|---|---|---|---|---|---|', ...rows].join(
    '\n',
  );
}

function cell(histories: readonly History[], count: Count): string {
  const values = histories.map((each) => each[count]);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const wrong = values.filter((value) => value !== 1).length;
  const range = least === most ? String(least) : `${least} to ${most}`;
  return wrong === 0 ? range : `${range} (${wrong} wrong)`;
}
