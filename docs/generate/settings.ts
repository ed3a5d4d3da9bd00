import { globSync, readFileSync } from 'node:fs';
import ts from 'typescript';
import { PREFIX } from '../../lib/settings/rules.ts';
import { SETTING_RULES } from '../../lib/settings.ts';

const PROJECT = new URL('../../', import.meta.url);

/** `file` adds the file's remaining settings (in `lib/settings/`). */
const GROUPS: readonly {
  readonly title: string;
  readonly names: readonly string[];
  readonly file?: string;
}[] = [
  { title: 'For a first deploy', names: ['sandbox', 'stripeAccount', 'environment', 'alarmEmail', 'archive'] },
  { title: 'Processors', names: ['routes'], file: 'processors' },
  { title: 'Orders', names: [], file: 'parties' },
  { title: 'Requests by events, jobs of other services', names: ['paymentRequests', 'jobTargets', 'natsBridge'] },
  {
    title: 'Events and webhooks',
    names: ['eventArchive', 'eventsLostAfterSeconds', 'allowLoopbackWebhooks'],
  },
  {
    title: 'Capacity and limits',
    names: [
      'throttlingRate',
      'throttlingBurst',
      'tenantRate',
      'tenantBurst',
      'peakRates',
      'memoryMb',
      'reservedConcurrency',
      'warmWriteUnits',
    ],
  },
  { title: 'Operators', names: [], file: 'operators' },
  { title: 'Address of the API', names: ['firewall'], file: 'domain' },
  { title: 'Data and recovery', names: ['retainData', 'dataKeyArn', 'restoredTables', 'claimsLost', 'retention'] },
  { title: 'Authority', names: [], file: 'authority' },
  { title: 'Audit archive', names: [], file: 'archive' },
  { title: 'Monitoring', names: ['alarmTopicArn', 'logRetentionDays', 'tracing', 'accountLogRole'] },
];

interface Documented {
  readonly name: string;
  readonly file: string;
  readonly text: string;
  readonly standard: string;
}

function documentedSettings(): ReadonlyMap<string, Documented> {
  const found = new Map<string, Documented>();
  for (const path of globSync(['lib/settings/*.ts', 'lib/settings.ts'], { cwd: PROJECT })) {
    const text = readFileSync(new URL(path, PROJECT), 'utf8');
    const file = /(\w[\w-]*)\.ts$/.exec(path)?.[1] ?? '';
    for (const node of ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true).statements) {
      if (!ts.isInterfaceDeclaration(node) || !/^(Settings|\w+Settings|ProcessorProps)$/.test(node.name.text)) continue;
      for (const member of node.members) {
        const name = member.name?.getText() ?? '';
        if (name !== 'processors' && !found.has(name)) found.set(name, { name, file, ...describe(member) });
      }
    }
  }
  return found;
}

function describe(member: ts.Node): Pick<Documented, 'text' | 'standard'> {
  const [doc] = ts.getJSDocCommentsAndTags(member).filter(ts.isJSDoc);
  const plain = (comment: Parameters<typeof ts.getTextOfJSDocComment>[0]): string =>
    (ts.getTextOfJSDocComment(comment) ?? '').replaceAll(/\s+/g, ' ').replaceAll('|', '\\|').trim();
  const standard = doc?.tags?.find(({ tagName }) => tagName.text === 'default');
  return { text: plain(doc?.comment), standard: plain(standard?.comment) };
}

/** @throws Error for a setting that no group contains */
export function settingsPage(): string {
  const left = new Map(documentedSettings());
  const take = (name: string): readonly Documented[] => {
    const setting = left.get(name);
    left.delete(name);
    return setting === undefined ? [] : [setting];
  };
  const parts = GROUPS.map(({ title, names, file }) => {
    const named = names.flatMap(take);
    const others = [...left.values()].filter((setting) => setting.file === file).flatMap(({ name }) => take(name));
    return `## ${title}\n\n| setting | meaning | allowed | default |\n|---|---|---|---|\n${[...named, ...others].map(rowOf).join('\n')}\n`;
  });
  if (left.size > 0) throw new Error(`no group of the settings page contains ${[...left.keys()].join(', ')}`);
  return `# Settings

Give a setting as CDK context, \`-c ${PREFIX}<name>=<value>\`, in \`cdk.json\`, or as a property of \`Payonce\` in your own
app. An invalid or unknown setting stops the synthesis with the allowed values.

A setting of a processor applies to live mode. With \`test\` before its name, it applies to test mode.

${parts.join('\n')}`;
}

function rowOf({ name, text, standard }: Documented): string {
  const allowed = (SETTING_RULES as Readonly<Record<string, { readonly allowed: string }>>)[name]?.allowed ?? '';
  return `| \`${name}\` | ${text} | ${allowed.replaceAll('|', '\\|')} | ${standard} |`;
}
