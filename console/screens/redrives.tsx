import type { Schemas } from '../api.ts';
import { actsOnQueue, afterRedrive, reasonText } from '../dead-letters.ts';
import { Id, Time } from '../parts.tsx';
import { useRead } from '../reading.ts';
import { cause, words } from '../show.ts';
import { Table } from '../table.tsx';

type Queue = Schemas['QueueList']['data'][number];
type ActivityEntry = Schemas['ActivityList']['data'][number];

export function Reason({ of }: { readonly of: string | null }) {
  if (of === null) return <>–</>;
  const text = reasonText(of);
  return text === undefined ? (
    <>{of}</>
  ) : (
    <>
      {text} <code>{of}</code>
    </>
  );
}

export function Redrives({ queue, queues }: { readonly queue: Queue; readonly queues: readonly Queue[] }) {
  const { answer } = useRead<Schemas['ActivityList']>('/v1/admin/activity?limit=100');
  const acts = actsOnQueue(answer?.data ?? [], queue.id);
  const redriven = acts.find(({ action }) => action.endsWith('.redrive_requested'));
  if (acts.length === 0) return <></>;
  return (
    <>
      <h2>Redrives and dismissals</h2>
      {redriven !== undefined && (
        <p>{afterRedrive(queue, { redriven: redriven.created, to: redriven.details['to'] ?? '', queues })}</p>
      )}
      <Table<ActivityEntry>
        label="Redrives and dismissals"
        rows={acts}
        columns={[
          { title: 'Time', of: ({ created }) => <Time at={created} />, by: ({ created }) => created },
          { title: 'Action', of: ({ action }) => words(action) },
          { title: 'By', of: ({ caused_by: by }) => cause(by) },
          { title: 'Reason', of: ({ details }) => words(details['reason'] ?? '–') },
          {
            title: 'Messages',
            of: ({ about, details }) =>
              about.length === 1
                ? details['waiting'] === undefined
                  ? 'all'
                  : `about ${details['waiting']}`
                : about.slice(1).map((id) => <Id key={id} of={id} />),
          },
        ]}
      />
    </>
  );
}
