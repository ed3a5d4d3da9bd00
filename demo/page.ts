import { cells, type Finding } from './verdict.ts';

/** The page of a run: what was brought about, and what both sides made of it. */
export function page(findings: readonly Finding[]): string {
  const [head = '', ...rows] = cells(findings).map((row) => `| ${row.join(' | ')} |`);
  return `# Naive against Payonce

Written by \`npm run demo -- --write\`, from a run on the local AWS. Both sides are deployed there with the CDK CLI, take their
payments over HTTP, charge at a sandbox processor, and have a consumer of their events behind a queue. Each count was taken at its
owner: charges (in the row of the refunds: refunds) in the processor's own list, sets of postings in the books, different events as the bus
delivered them, effects as rows that the consumer wrote.

The naive side ([demo/functions](../demo/functions)) is the code that everybody writes first: it looks before it acts, with consistent
reads, and acts before it saves. A key that was answered before is answered again, an event that was seen is not booked
again, a refund beyond what is left is refused. That is right as long as nobody dies, doubles or comes at the same time. It takes ten posts
at once, and whoever is not let in comes again. It books a refund and then has the processor make it: of two that race, the processor
refuses the second, when books, event and effect are there already.

Counts are charges / postings / events / effects; once is 1 / 1 / 1 / 1.

${[head, `|${'---|'.repeat(5)}`, ...rows].join('\n')}

The naive counts differ from run to run, because they are races; Payonce's may not, and \`npm run demo\` fails when they do.
`;
}
