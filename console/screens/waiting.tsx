import { useState } from 'preact/hooks';
import { Act } from '../act.tsx';
import type { Schemas } from '../api.ts';
import { About, Id, Loaded, Time } from '../parts.tsx';
import { refusalOfRun } from '../proposals.ts';
import { useRead } from '../reading.ts';
import { age, count, queueTitle } from '../show.ts';
import { type Column, List, Table } from '../table.tsx';
import { DismissCallback } from './attention.tsx';
import { dismissedRun } from './outcomes.ts';
import { Reason, Redrives } from './redrives.tsx';

type Queues = Schemas['QueueList'];
type QueueRow = Queues['data'][number];

export function Waiting() {
  const read = useRead<Queues>('/v1/admin/queues');
  return (
    <>
      <h1>Waiting for work</h1>
      <p>
        Queues of unfinished work. If a job empties a queue, an operator is only needed when its oldest entry is old.
      </p>
      <Loaded of={read}>
        {({ data }) => (
          <Table<QueueRow>
            label="Queues"
            rows={data}
            columns={[
              {
                title: 'Queue',
                of: ({ id }) => <a href={`#/waiting/${id}`}>{queueTitle(id)}</a>,
                by: ({ id }) => queueTitle(id),
              },
              { title: 'Contents', of: ({ description }) => description },
              {
                title: 'Waiting',
                isNumber: true,
                of: waitingText,
                by: ({ waiting }) => waiting,
              },
              {
                title: 'Oldest',
                isNumber: true,
                of: ({ oldest_age: oldest }) => age(oldest),
                by: ({ oldest_age: oldest }) => oldest,
              },
              { title: 'Emptied by', of: ({ job }) => (job === null ? '–' : <a href={`#/jobs/${job}`}>{job}</a>) },
            ]}
          />
        )}
      </Loaded>
    </>
  );
}

export function waitingText({ waiting, more_waiting: more }: QueueRow): string {
  return waiting === null ? 'Cannot be read now' : `${count(waiting)}${more ? '+' : ''}`;
}

type Entry = Schemas['QueueEntryList']['data'][number];

/** Maximum number of messages to read: a list of messages has no pages. */
const MAX_MESSAGES = 100;
const HIDDEN = `More messages wait than are listed. The list shows at most ${MAX_MESSAGES} messages, and omits those that another request holds for up to 30 seconds. Refresh the list after that time.`;
const ACT = { title: 'Act', isActs: true } as const;

/** A callback about another program's charge needs no operator, and expires. */
function CallbackActs({ row: { callback, part, needs_operator: needs } }: { readonly row: Entry }) {
  return callback === null || !needs ? <>–</> : <DismissCallback callback={callback} charge={part} />;
}

export function Queue({ id }: { readonly id: string }) {
  const [ended, setEnded] = useState<'redriven' | 'dismissed'>();
  const read = useRead<Queues>('/v1/admin/queues');
  const queue = read.answer?.data.find((each) => each.id === id);
  return (
    <>
      <h1>Queue: {queueTitle(id)}</h1>
      {queueTitle(id) !== id && <Id of={id} />}
      <Loaded of={read}>
        {() => (
          <>
            {queue !== undefined && <QueueActs queue={queue} end={setEnded} />}
            {ended === 'redriven' && (
              <p role="status">
                The messages were moved and are processed again. Messages that are here now have failed again, or
                arrived later.
              </p>
            )}
            <Entries id={id} queue={queue} hidesOld={ended !== undefined} />
          </>
        )}
      </Loaded>
      {queue?.is_kept === true && <Redrives queue={queue} queues={read.answer?.data ?? []} />}
    </>
  );
}

/**
 * Each listing of messages hides them from other listings for a while, so messages are read in one page, and are not
 * polled.
 */
function Entries({
  id,
  queue,
  hidesOld,
}: {
  readonly id: string;
  readonly queue: QueueRow | undefined;
  readonly hidesOld: boolean;
}) {
  const isKept = queue?.is_kept === true;
  const missedRun: readonly Column<Entry>[] = [
    { title: 'Job', of: ({ job, part }) => (job === null ? (part ?? '–') : <a href={`#/jobs/${job}`}>{job}</a>) },
    { title: 'Scheduled for', of: (row) => <Time at={row.scheduled_for} />, by: (row) => row.scheduled_for },
    { title: 'Reported', of: ({ since }) => <Time at={since} />, by: ({ since }) => since },
  ];
  const other: readonly Column<Entry>[] = [
    { title: 'About', of: ({ about }) => <About id={about} /> },
    { title: 'Part', of: ({ part }) => <Id of={part} /> },
  ];
  return (
    <List<Entry>
      label={`Entries of ${id}`}
      path={`/v1/admin/queues/${encodeURIComponent(id)}${isKept ? `?limit=${MAX_MESSAGES}` : ''}`}
      rest={isKept ? HIDDEN : undefined}
      hidesOld={hidesOld}
      none="The queue is empty."
      hint={<a href="#/waiting">See all queues</a>}
      columns={[
        ...(queue?.can_dismiss_all === true ? missedRun : other),
        { title: 'Age', isNumber: true, of: ({ age: seconds }) => age(seconds), by: ({ age: seconds }) => seconds },
        {
          title: 'Needs a person',
          of: ({ needs_operator: needs }) => (needs ? 'yes' : 'no'),
          by: ({ needs_operator: needs }) => Number(needs),
        },
        { title: 'Reason', of: ({ reason }) => <Reason of={reason} /> },
        ...(isKept ? [{ ...ACT, of: (row: Entry) => <MessageActs queue={queue} row={row} /> }] : []),
        ...(id === 'unmatched_callbacks' ? [{ ...ACT, of: (row: Entry) => <CallbackActs row={row} /> }] : []),
      ]}
    />
  );
}

function QueueActs({
  queue,
  end,
}: {
  readonly queue: QueueRow;
  readonly end: (how: 'redriven' | 'dismissed') => void;
}) {
  const { id, redrive_to: to, no_redrive_because: because, can_dismiss_all: canDismissAll, waiting } = queue;
  const about = waiting === null ? '' : ` (about ${waiting})`;
  const path = `/v1/admin/queues/${encodeURIComponent(id)}`;
  const empty = waiting === 0 ? 'The queue is empty.' : undefined;
  return (
    <div class="acts">
      <Act
        name="Redrive all"
        does={`Passes the waiting messages${about} to ${to ?? ''}, each once. They are processed again, and each takes effect only once.`}
        role="operator"
        because={because ?? empty}
        path={`${path}/redrive`}
        fields={[]}
        done={() => end('redriven')}
      />
      {canDismissAll && (
        <Act
          name="Dismiss all"
          does={`Deletes the messages about jobs of this deployment. Run each of these jobs first: one run does all work that is due. Messages about jobs of other services stay; dismiss them one by one.`}
          role="operator"
          because={empty}
          path={`${path}/dismiss`}
          fields={[REASON]}
          says={() => 'The messages about jobs of this deployment were dismissed.'}
          done={() => end('dismissed')}
        />
      )}
    </div>
  );
}

const REASON = {
  name: 'reason',
  label: 'Reason',
  choices: [
    ['done_otherwise', 'The work was done in another way'],
    ['not_needed', 'The work is no longer needed'],
  ],
} as const;

/** If no action is possible, the reason is above the list. */
function MessageActs({
  queue,
  row: { id: entry, about, part, job },
}: {
  readonly queue: QueueRow;
  readonly row: Entry;
}) {
  const { id, redrive_to: to, no_dismissal_because: noDismissal } = queue;
  const path = `/v1/admin/queues/${encodeURIComponent(id)}`;
  const which = [part ?? `the message ${entry}`, ...(about === null ? [] : [about])].join(' of ');
  const isMissedRun = queue.can_dismiss_all && part !== null;
  // For a missed run of another service, `which` begins with the name of the service.
  const [service = null] = isMissedRun && job === null ? which.split(' ') : [];
  return (
    <span class="acts">
      {to !== null && (
        <Act
          name="Redrive"
          does={`Passes ${which} to ${to}. It is processed again, and takes effect only once. The other messages stay.`}
          role="operator"
          path={`${path}/redrive`}
          fixed={{ entry }}
          fields={[]}
          says={() => 'The message was moved and is processed again. If it fails again, it returns to this list.'}
        />
      )}
      {isMissedRun && (
        <Act
          name="Run now"
          does={`Starts one run of ${job}, which does all work that is due. Then dismiss the messages of this job.`}
          role="operator"
          because={refusalOfRun(service)}
          path={`/v1/admin/jobs/${encodeURIComponent(job ?? '')}/runs`}
          fields={[]}
          says={() => `The job ${job} was started. Now dismiss its messages.`}
        />
      )}
      {noDismissal === null && (
        <Act
          name="Dismiss"
          does={`Deletes ${isMissedRun ? dismissedRun(which, job) : `${which}. Payonce will never do its work.`}`}
          role="operator"
          path={`${path}/dismiss`}
          fixed={{ entry }}
          fields={[REASON]}
          says={() => 'The message was dismissed.'}
        />
      )}
    </span>
  );
}
