import { cells, type Finding } from './verdict.ts';

export function page(findings: readonly Finding[]): string {
  const [head = '', ...rows] = cells(findings).map((row) => `| ${row.join(' | ')} |`);
  return `# Naive against Payonce

Written by \`npm run demo -- --write\`, from a run on the local AWS. Charges (in the last two rows: refunds) are counted
in the processor's books, postings in the Ledger, events on the bus, and effects in the consumer's rows. An event or
effect that is missing after a minute counts as lost.

The naive side ([demo/functions](../../demo/functions)) is a typical first implementation: it checks before it acts, and
acts before it saves. That is correct as long as no process dies and no request is duplicated or concurrent. It runs ten
requests at a time; rejected clients retry.

Counts are charges / postings / events / effects. Exactly once is 1 / 1 / 1 / 1.

${[head, `|${'---|'.repeat(5)}`, ...rows].join('\n')}

The naive counts are results of races and differ between runs. If Payonce's counts differ, \`npm run demo\` fails.

## The lab

\`npm start\` prints the address of the lab. Choose a failure and run it on both sides. The page shows the counts and the
verdicts, and links to the payment in the [console](../operate/console.md). It has two more scenarios: a processor that
charges and never responds, and a refund of a disputed charge. The first run deploys the naive shop; \`npm stop\` removes
it. The lab also runs each failure with PostgreSQL, on a second local stack; \`npm run demo -- --authority postgres\` does
so for all.

![A failure in the lab, with the counts of both sides](../pictures/console-lab.png)
`;
}
