import { cells, type Finding } from './verdict.ts';

/** The page of a run: the scenarios and the counts of both sides. */
export function page(findings: readonly Finding[]): string {
  const [head = '', ...rows] = cells(findings).map((row) => `| ${row.join(' | ')} |`);
  return `# Naive against Payonce

Written by \`npm run demo -- --write\`, from a run on the local AWS. Both sides are deployed with the CDK CLI, receive payments over
HTTP, charge at a sandbox processor, and have a consumer of their events behind a queue. Each count comes from its source: charges (in the last
two rows: refunds) from the processor's books, sets of postings from the Ledger, distinct events from the bus, and effects from the consumer's rows.

The naive side ([demo/functions](../../demo/functions)) is a typical first implementation: it checks before it acts, with consistent reads, and acts
before it saves. A repeated key gets the stored answer, a known event is not applied again, and a refund beyond the rest is rejected. This is
correct as long as no process dies and no request is duplicated or concurrent. It runs ten requests at a time; rejected clients retry. It posts a
refund and then sends it to the processor: of two concurrent refunds the processor rejects the second, when its postings, event and effect
already exist. It publishes an event after it has saved: if its process dies in between, the event is lost, because the processor's next callback is
known. What publishes on Payonce's side is the relay. It is stopped by its event source, so that it reads nothing from the Ledger's Stream.

An event or effect that has not appeared a minute after the failure counts as lost.

Counts are charges / postings / events / effects. Exactly once is 1 / 1 / 1 / 1.

${[head, `|${'---|'.repeat(5)}`, ...rows].join('\n')}

The naive counts are the results of races and differ between runs. Payonce's counts must not differ: \`npm run demo\` fails if they do.

## The lab

\`npm start\` prints the address of the lab, a page for this machine. Choose a trouble and run it on both sides, one trouble at a time. The page
shows the counts while they change, the verdicts, and the row of this table. Payonce's side links to what happened to the payment, in the
[console](../operate/console.md). The lab runs the scenarios of \`npm run demo\` by the same function, and two more: a processor that
charges and never answers, and a refund of a charge that the payer has disputed. The naive shop is deployed by the first run, and taken away when Payonce stops.

![A trouble in the lab, with the counts of both sides](../pictures/console-lab.png)
`;
}
