import { readdirSync, readFileSync } from 'node:fs';

const FEATURES = new URL('../../test/features/', import.meta.url);
const BY_PROJECT = { stores: 'against the DynamoDB API', deployed: 'on the deployed stacks' } as const;

interface Feature {
  readonly file: string;
  readonly title: string;
  readonly text: string;
  readonly scenarios: readonly string[];
  /** The suite fails for a scenario that is not bound. */
  readonly suite: string;
  readonly project: keyof typeof BY_PROJECT;
}

/** @throws Error when no suite runs a feature */
export function features(): readonly Feature[] {
  const files = readdirSync(FEATURES).sort();
  const suites = files.filter((name) => name.endsWith('.test.ts'));
  return files
    .filter((name) => name.endsWith('.feature'))
    .map((file) => {
      const text = readFileSync(new URL(file, FEATURES), 'utf8').trim();
      const suite = suites.find((name) => readFileSync(new URL(name, FEATURES), 'utf8').includes(`/${file}'`));
      if (suite === undefined) throw new Error(`no suite in test/features runs ${file}`);
      const titles = (keyword: string) =>
        [...text.matchAll(new RegExp(`^ *${keyword}: (.+)$`, 'gm'))].map(([, title = '']) => title);
      const [title = ''] = titles('Feature');
      const project = suite.includes('.stores.') ? 'stores' : 'deployed';
      return { file, title, text, scenarios: titles('Scenario(?: Outline)?'), suite, project };
    });
}

export function scenariosPage(): string {
  const all = features();
  const rows = all.map(
    ({ title, scenarios, suite, project }) =>
      `| ${title} | ${scenarios.length} | \`test/features/${suite}\`, ${BY_PROJECT[project]} |`,
  );
  const texts = all.map(({ title, text }) => `## ${title}\n\n\`\`\`gherkin\n${text}\n\`\`\`\n`);
  return `# Scenarios

What Payonce promises about one request, in Gherkin. \`npm test\` runs every scenario, and fails for a scenario or a step
that no code is bound to.

| feature | scenarios | run by |
|---|---|---|
${rows.join('\n')}

${texts.join('\n')}`;
}
