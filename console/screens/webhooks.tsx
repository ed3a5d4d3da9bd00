import { Act } from '../act.tsx';
import type { Schemas } from '../api.ts';
import { type Filter, Filters } from '../filters.tsx';
import { Fact, List, Loaded, Status, Table, useRead, useTurns } from '../parts.tsx';
import { time } from '../show.ts';

type Endpoint = Schemas['WebhookEndpoint'];
type Delivery = Schemas['WebhookDelivery'];

const ENDPOINTS = '/v1/webhook_endpoints';
const FIELDS: readonly Filter[] = [
  { name: 'tenant', label: 'Tenant', required: true },
  { name: 'mode', label: 'Mode', required: true, choices: ['test', 'live'] },
];

/** Shows the endpoints of a tenant, and the deliveries to one of them. */
export function Webhooks({ filters }: { readonly filters: URLSearchParams }) {
  const tenant = filters.get('tenant');
  const mode = filters.get('mode') ?? 'live';
  const endpoint = filters.get('endpoint');
  return (
    <>
      <h1>Webhooks</h1>
      <Filters
        screen="webhooks"
        act="Show"
        filters={new URLSearchParams({ tenant: tenant ?? '', mode })}
        fields={FIELDS}
      />
      {tenant !== null &&
        (endpoint === null ? (
          <Endpoints tenant={tenant} mode={mode} />
        ) : (
          <OfEndpoint tenant={`${tenant}/${mode}`} path={`${ENDPOINTS}/${encodeURIComponent(endpoint)}`} />
        ))}
    </>
  );
}

function Endpoints({ tenant, mode }: { readonly tenant: string; readonly mode: string }) {
  const read = useRead<Schemas['WebhookEndpointList']>(ENDPOINTS, `${tenant}/${mode}`);
  const to = (endpoint: string) => `#/webhooks?${new URLSearchParams({ tenant, mode, endpoint }).toString()}`;
  return (
    <Loaded of={read}>
      {({ data }) => (
        <Table<Endpoint>
          label="Endpoints"
          rows={data}
          none="The tenant has no endpoint."
          columns={[
            { title: 'Endpoint', of: ({ id }) => <a href={to(id)}>{id}</a> },
            { title: 'Address', of: ({ url }) => url },
            { title: 'Description', of: ({ description }) => description ?? '–' },
            { title: 'Events', of: ({ events }) => events.join(', ') },
            { title: 'State', of: stateOf },
          ]}
        />
      )}
    </Loaded>
  );
}

function stateOf({ enabled, disabled }: Endpoint): string {
  if (enabled) return 'enabled';
  return disabled === null ? 'disabled' : `disabled (${disabled.reason}) since ${time(disabled.at)}`;
}

function OfEndpoint({ tenant, path }: { readonly tenant: string; readonly path: string }) {
  const read = useRead<Endpoint>(path, tenant);
  const [turn, again] = useTurns();
  const refresh = () => {
    again();
    read.again();
  };
  return (
    <>
      <Loaded of={read}>
        {(endpoint) => (
          <>
            <dl class="facts">
              <Fact name="Address" value={endpoint.url} />
              <Fact name="Events" value={endpoint.events.join(', ')} />
              <Fact name="State" value={stateOf(endpoint)} />
              <Fact name="Previous secret valid until" value={time(endpoint.previous_secret_expires)} />
            </dl>
            <EndpointActs tenant={tenant} path={path} endpoint={endpoint} done={refresh} />
          </>
        )}
      </Loaded>
      <h2>Deliveries</h2>
      <List<Delivery>
        key={turn}
        label="Deliveries"
        path={`${path}/deliveries?limit=100`}
        tenant={tenant}
        none="Nothing was sent to this endpoint."
        columns={[
          { title: 'Created', of: ({ created }) => time(created) },
          { title: 'Event', of: ({ type }) => type },
          { title: 'Payment', of: ({ event }) => <Subject event={event} /> },
          { title: 'Status', of: ({ status }) => <Status of={status} /> },
          { title: 'Attempts', isNumber: true, of: ({ attempts }) => attempts.length },
          { title: 'Last answer', of: lastAnswer },
          { title: 'Next attempt', of: (row) => time(row.next_attempt) },
          {
            title: 'Act',
            of: ({ id }) => (
              <Act
                name="Resend"
                does="Sends this delivery immediately, with the same event id, even if it is waiting for its next attempt. A receiver that stores ids processes the event only once."
                role="operator"
                tenant={tenant}
                path={`${path}/deliveries/${encodeURIComponent(id)}/resend`}
                fields={[]}
                done={refresh}
              />
            ),
          },
        ]}
      />
    </>
  );
}

function EndpointActs({
  tenant,
  path,
  endpoint: { enabled },
  done,
}: {
  readonly tenant: string;
  readonly path: string;
  readonly endpoint: Endpoint;
  readonly done: () => void;
}) {
  return (
    <div class="acts">
      <Act
        name="Send test event"
        does="Sends one signed event of the type webhook_endpoint.test to this endpoint. The event does not belong to a payment."
        role="operator"
        because={enabled ? undefined : 'The endpoint is disabled.'}
        tenant={tenant}
        path={`${path}/test`}
        fields={[]}
        done={done}
      />
      <Act
        name="Replay"
        does="Delivers all events of these days again, including events that were already delivered."
        role="operator"
        because={enabled ? undefined : 'The endpoint is disabled.'}
        tenant={tenant}
        path={`${path}/replay`}
        fields={[
          { name: 'created_from', label: 'From the day (UTC)', isDay: true },
          { name: 'created_to', label: 'Before the day (UTC), at most 31 days later', isDay: true },
        ]}
        done={done}
      />
      <Act
        name="Rotate secret"
        does="Creates a new secret. Webhooks are also signed with the previous secret until the tenant has changed its receiver."
        role="owner"
        tenant={tenant}
        path={`${path}/rotate_secret`}
        fields={[
          {
            name: 'overlap_seconds',
            label: 'Seconds for which the previous secret stays valid',
            isOptional: true,
            isWhole: true,
          },
        ]}
        shows={(answer) => <NewSecret secret={(answer as Schemas['WebhookEndpointWithSecret']).secret} />}
        done={done}
      />
    </div>
  );
}

function NewSecret({ secret }: { readonly secret: string }) {
  return (
    <p>
      The new secret, which is shown only once: <code>{secret}</code>
    </p>
  );
}

function lastAnswer({ attempts, last_answer: text }: Delivery): string {
  const last = attempts.at(-1);
  if (last === undefined) return '–';
  return [last.error ?? last.status, text].filter((part) => part !== null && part !== '').join(': ');
}

/** Links to the payment of an event. The event id contains the payment id. */
function Subject({ event }: { readonly event: string }) {
  const letters = /^evt_([a-z2-7]{32})\d{6}/.exec(event)?.[1];
  return letters === undefined ? <code>{event}</code> : <a href={`#/payments/pay_${letters}`}>{`pay_${letters}`}</a>;
}
