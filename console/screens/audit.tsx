import type { Schemas } from '../api.ts';
import { Fact, Id, Loaded, Time } from '../parts.tsx';
import { useRead } from '../reading.ts';
import { Table } from '../table.tsx';

type Verified = Schemas['Verified'];
type Verification = Schemas['Verification'];
type Manifest = Schemas['Manifest'];

export const VERIFICATIONS: Readonly<Record<Verified['kind'], { readonly title: string; readonly none: string }>> = {
  day: { title: 'Nightly: the previous day', none: 'No day was verified yet.' },
  part: { title: 'Hourly: a slice of everything before the current month', none: 'No slice was verified yet.' },
  asked: {
    title: 'At other times',
    none: 'The auditor has run no other verification. To verify a time range now, run “payonce verify”.',
  },
};
export const NO_MANIFEST = 'No manifest was written for three hours.';
const VERDICTS = { holds: 'holds', differs: 'does not hold', failed: 'failed' } as const;

export function Audit() {
  const read = useRead<Schemas['Audit']>('/v1/admin/audit');
  return (
    <>
      <h1>Audit</h1>
      <Loaded of={read}>{(audit) => (audit.archive === null ? <Off /> : <Archive audit={audit} />)}</Loaded>
    </>
  );
}

function Off() {
  return (
    <p>
      This deployment has no archive (setting <code>archive</code>), so nothing is verified automatically. The command{' '}
      <code>payonce verify</code> verifies the chains of the Ledger.
    </p>
  );
}

function Archive({
  audit: { archive, verified, manifests, manifests_overdue: isOld },
}: {
  readonly audit: Schemas['Audit'];
}) {
  return (
    <>
      <p>
        The auditor compares the Ledger with its archive, in both directions. It lists the first findings; the command{' '}
        <code>payonce verify</code> for the same time range lists all.
      </p>
      <dl class="facts">
        <Fact name="Archive bucket" value={archive} />
        {verified.map((each) => (
          <Fact key={each.kind} name={VERIFICATIONS[each.kind].title} value={<LastOne of={each} />} />
        ))}
      </dl>
      {verified.map((each) => (
        <OfKind key={each.kind} of={each} />
      ))}
      <h2>Manifests</h2>
      {isOld && <p class="trouble">{NO_MANIFEST}</p>}
      <Table<Manifest>
        label="Manifests"
        rows={manifests}
        none="No manifest was written yet."
        columns={[
          { title: 'Number', isNumber: true, of: ({ number }) => number, by: ({ number }) => number },
          {
            title: 'Created',
            of: ({ created, failure }) => (failure === null ? <Time at={created} /> : <Bad text={failure} />),
          },
          { title: 'Objects', isNumber: true, of: ({ objects }) => objects ?? '–' },
          { title: 'Lines', isNumber: true, of: ({ lines }) => lines ?? '–' },
          { title: 'Signed', of: ({ signed }) => (signed === null ? '–' : signed ? 'yes' : 'no') },
          { title: 'Hash', of: ({ hash }) => <Id of={hash} /> },
          { title: 'Previous', of: ({ previous }) => <Id of={previous} /> },
        ]}
      />
    </>
  );
}

function LastOne({ of: { verifications, overdue, due } }: { readonly of: Verified }) {
  if (overdue)
    return (
      <span class="trouble">
        overdue since <Time at={due} />
      </span>
    );
  const [last] = verifications;
  return last === undefined ? <>none yet</> : <Verdict of={last} />;
}

function Verdict({ of: { verdict } }: { readonly of: Verification }) {
  return verdict === 'holds' ? <>{VERDICTS.holds}</> : <Bad text={VERDICTS[verdict]} />;
}

function Bad({ text }: { readonly text: string }) {
  return <span class="trouble">{text}</span>;
}

function OfKind({ of: { kind, due, overdue, unreadable, verifications } }: { readonly of: Verified }) {
  const { title, none } = VERIFICATIONS[kind];
  return (
    <>
      <h2>{title}</h2>
      {overdue && (
        <p class="trouble">
          A verification was due at <Time at={due} />, and none has ended since.
        </p>
      )}
      {kind === 'part' && !overdue && due !== null && (
        <p class="soft-text">
          The last slice was due at <Time at={due} />, and was verified. An archive with few days has few slices: they
          are verified at the beginning of each month.
        </p>
      )}
      {unreadable > 0 && <p class="trouble">{unreadable} records were not written by the auditor.</p>}
      <Table<Verification>
        label={title}
        rows={verifications}
        none={none}
        columns={[
          { title: 'From', of: ({ from }) => <Time at={from} />, by: ({ from }) => from },
          { title: 'To', of: ({ to }) => <Time at={to} /> },
          { title: 'Verdict', of: (row) => <Verdict of={row} /> },
          { title: 'Ended', of: ({ ended }) => <Time at={ended} />, by: ({ ended }) => ended },
          { title: 'Rows', isNumber: true, of: ({ rows }) => rows ?? '–' },
          { title: 'Lines', isNumber: true, of: ({ lines }) => lines ?? '–' },
          { title: 'Objects', isNumber: true, of: ({ objects }) => objects ?? '–' },
          { title: 'Findings', isNumber: true, of: ({ findings, failure }) => (failure === null ? findings : '–') },
          { title: 'Violations', of: (row) => <Findings of={row} /> },
          { title: 'Command', of: ({ from, to }) => <code>{`payonce verify --from ${from} --to ${to}`}</code> },
        ]}
      />
    </>
  );
}

function Findings({ of: { failure, findings, first_findings: first } }: { readonly of: Verification }) {
  if (failure !== null) return <>{failure}</>;
  if (findings === 0) return <>–</>;
  return (
    <>
      {first.map((finding) => (
        <div key={JSON.stringify(finding)}>
          <code>{lineOf(finding)}</code>
        </div>
      ))}
      {findings > first.length && <div>and {findings - first.length} more</div>}
    </>
  );
}

function lineOf({ kind, ...fields }: Verification['first_findings'][number]): string {
  const texts = Object.entries(fields).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return [kind, ...texts].join(' ');
}
