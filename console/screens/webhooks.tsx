import { Act } from '../act.tsx';
import type { Schemas } from '../api.ts';
import { About, Copy, Fact, Id, Loaded, Status, Time } from '../parts.tsx';
import { useOwner, usePlace, useTenantName } from '../place.ts';
import { useRead } from '../reading.ts';
import { List, Table } from '../table.tsx';

type Endpoint = Schemas['WebhookEndpoint'];
type Delivery = Schemas['WebhookDelivery'];

const ENDPOINTS = '/v1/webhook_endpoints';
const DAYS = [
  { name: 'created_from', label: 'First day (UTC)', day: 'first' },
  { name: 'created_to', label: 'Last day (UTC), at most 31 days in all', day: 'last' },
] as const;

export function Webhooks({ filters }: { readonly filters: URLSearchParams }) {
  const { owner } = useOwner();
  const { to } = usePlace();
  const endpoint = filters.get('endpoint');
  if (endpoint === null) return <Endpoints owner={owner} />;
  return (
    <>
      <p>
        <a href={to('webhooks')}>All endpoints</a>
      </p>
      <h1>Endpoint</h1>
      <Id of={endpoint} />
      <OfEndpoint tenant={owner} path={`${ENDPOINTS}/${encodeURIComponent(endpoint)}`} />
    </>
  );
}

function Endpoints({ owner }: { readonly owner: string }) {
  const read = useRead<Schemas['WebhookEndpointList']>(ENDPOINTS, owner);
  const { to, tenant = '', mode } = usePlace();
  const nameOf = useTenantName();
  return (
    <>
      <h1>Webhooks</h1>
      <Loaded of={read}>
        {({ data }) => (
          <Table<Endpoint>
            label="Endpoints"
            rows={data}
            none={`${nameOf(tenant)} has no endpoint in ${mode} mode.`}
            hint="The tenant creates an endpoint with POST /v1/webhook_endpoints. To see the other mode, switch at the top of the page."
            columns={[
              { title: 'Endpoint', of: ({ id }) => <Id of={id} to={to('webhooks', { endpoint: id })} /> },
              { title: 'Address', of: ({ url }) => url, by: ({ url }) => url },
              { title: 'Description', of: ({ description }) => description ?? '–' },
              { title: 'Events', of: ({ events }) => events.join(', ') },
              { title: 'State', of: stateOf, by: ({ enabled }) => Number(enabled) },
            ]}
          />
        )}
      </Loaded>
    </>
  );
}

function stateOf({ enabled, disabled, failing_since: failing }: Endpoint) {
  if (enabled && failing === null) return 'enabled';
  if (enabled)
    return (
      <>
        failing since <Time at={failing} />
      </>
    );
  if (disabled === null) return 'disabled';
  return (
    <>
      disabled ({disabled.reason}) since <Time at={disabled.at} />
    </>
  );
}

function OfEndpoint({ tenant, path }: { readonly tenant: string; readonly path: string }) {
  const read = useRead<Endpoint>(path, tenant);
  return (
    <>
      <Loaded of={read}>
        {(endpoint) => (
          <>
            <dl class="facts">
              <Fact name="Address" value={endpoint.url} />
              {endpoint.description !== null && <Fact name="Description" value={endpoint.description} />}
              <Fact name="Events" value={endpoint.events.join(', ')} />
              <Fact name="State" value={stateOf(endpoint)} />
              <Fact name="Previous secret valid until" value={<Time at={endpoint.previous_secret_expires} />} />
            </dl>
            <EndpointActs tenant={tenant} path={path} endpoint={endpoint} />
          </>
        )}
      </Loaded>
      <h2>Deliveries</h2>
      <List<Delivery>
        label="Deliveries"
        path={`${path}/deliveries?limit=100`}
        tenant={tenant}
        none="Nothing was sent to this endpoint."
        hint="Send a test event, or replay the events of some days."
        columns={[
          { title: 'Created', of: ({ created }) => <Time at={created} />, by: ({ created }) => created },
          { title: 'Event', of: ({ type }) => type, by: ({ type }) => type },
          { title: 'Payment', of: ({ event }) => <Subject event={event} /> },
          { title: 'Status', of: ({ status }) => <Status of={status} />, by: ({ status }) => status },
          { title: 'Attempts', isNumber: true, of: ({ attempts }) => attempts.length },
          { title: 'Last response', of: lastAnswer },
          { title: 'Next attempt', of: (row) => <Time at={row.next_attempt} /> },
          {
            title: 'Act',
            isActs: true,
            of: ({ id, event }) => (
              <Act
                name="Resend"
                does={`Sends the event ${event} immediately, with the same id, even if its delivery is waiting for its next attempt. A receiver that stores ids processes the event only once.`}
                role="operator"
                tenant={tenant}
                path={`${path}/deliveries/${encodeURIComponent(id)}/resend`}
                fields={[]}
                says={() => 'The event is sent again. Refresh the list to see the response.'}
              />
            ),
          },
        ]}
      />
    </>
  );
}

interface EndpointActsProps {
  readonly tenant: string;
  readonly path: string;
  readonly endpoint: Pick<Endpoint, 'enabled' | 'disabled'>;
}

function EndpointActs({ tenant, path, endpoint: { enabled, disabled } }: EndpointActsProps) {
  const replayed = () => 'The replay has started. Refresh the list to see its deliveries.';
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
        says={() => 'The test event is sent. Refresh the list to see the response.'}
      />
      <EnablingActs tenant={tenant} path={path} endpoint={{ enabled, disabled }} />
      <Act
        name="Replay missing"
        does="Delivers the events of these days that the endpoint has not answered with 2xx. The first day must be one of the last 90."
        role="operator"
        because={enabled ? undefined : 'The endpoint is disabled.'}
        tenant={tenant}
        path={`${path}/replay`}
        fields={DAYS}
        fixed={{ only_undelivered: true }}
        says={replayed}
      />
      <Act
        name="Replay all"
        does="Delivers all events of these days again, including events that were already delivered."
        role="operator"
        because={enabled ? undefined : 'The endpoint is disabled.'}
        tenant={tenant}
        path={`${path}/replay`}
        fields={DAYS}
        says={replayed}
      />
      <Act
        name="Rotate secret"
        does="Creates a new secret. Webhooks are also signed with the previous secret while it stays valid, so that the tenant can change its receiver."
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
      />
    </div>
  );
}

function EnablingActs({ tenant, path, endpoint: { enabled, disabled } }: EndpointActsProps) {
  return (
    <>
      {!enabled && (
        <Act
          name="Enable"
          does="Sends new events to this endpoint again. “Replay missing” then sends the events that were missed."
          role="operator"
          method="PATCH"
          tenant={tenant}
          path={path}
          fields={[]}
          fixed={{ enabled: true }}
          says={() => 'The endpoint is enabled. Now replay what it missed.'}
        />
      )}
      {disabled?.reason !== 'requested' && (
        <Act
          name={enabled ? 'Disable' : 'Keep disabled'}
          does="Sends nothing to this endpoint until the tenant or an operator enables it. The endpoint then no longer needs an operator’s attention."
          role="operator"
          method="PATCH"
          tenant={tenant}
          path={path}
          fields={[]}
          fixed={{ enabled: false }}
          says={() => 'The endpoint is disabled.'}
        />
      )}
    </>
  );
}

function NewSecret({ secret }: { readonly secret: string }) {
  return (
    <p>
      The new secret, which is shown only once: <code>{secret}</code> <Copy text={secret} />
    </p>
  );
}

function lastAnswer({ attempts, last_answer: text }: Delivery): string {
  const last = attempts.at(-1);
  if (last === undefined) return '–';
  return [last.error ?? last.status, text].filter((part) => part !== null && part !== '').join(': ');
}

/** The event id contains the payment id. */
function Subject({ event }: { readonly event: string }) {
  const letters = /^evt_([a-z2-7]{32})\d{6}/.exec(event)?.[1];
  return letters === undefined ? <Id of={event} /> : <About id={`pay_${letters}`} />;
}
