import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Calls, type Side } from '../../bench/compare/calls.ts';
import { type Gate, openHttpGate } from '../../bench/compare/http-gate.ts';
import { openPostgresGate } from '../../bench/compare/postgres-gate.ts';

const opened: { close(): void }[] = [];
afterEach(() => {
  for (const each of opened.splice(0)) each.close();
});

/**
 * The trap resolves `sprung` when the call reaches it, and holds the call until `release` resumes (true) or drops
 * (false) it.
 */
function trapAt(call: number, side: Side) {
  const sprung = Promise.withResolvers<void>();
  const release = Promise.withResolvers<boolean>();
  const spring = (): Promise<boolean> => {
    sprung.resolve();
    return release.promise;
  };
  return { trap: { call, side, spring }, sprung: sprung.promise, release: release.resolve };
}

const addressOf = ({ port }: Gate): string => `http://127.0.0.1:${port}`;

describe('the proxy of an HTTP service', () => {
  async function openGate() {
    const calls = new Calls();
    const applied: string[] = [];
    const gate = await openHttpGate(calls, async ({ path }) => {
      applied.push(path);
      return new Response(`answer to ${path}`);
    });
    opened.push(gate);
    return { gate, calls, applied };
  }

  test.each([
    ['before', ['/1']],
    ['after', ['/1', '/2']],
  ] as const)('stops a call %s the service has applied it', async (side, expected) => {
    const { gate, calls, applied } = await openGate();
    const { trap, sprung, release } = trapAt(2, side);
    calls.begin(trap);

    expect(await (await fetch(`${addressOf(gate)}/1`)).text()).toBe('answer to /1');
    const second = fetch(`${addressOf(gate)}/2`);
    await sprung;
    expect(applied).toEqual(expected);
    release(true);
    expect(await (await second).text()).toBe('answer to /2');
    expect(calls.count).toBe(2);
  });

  test('sends no response to a killed process', async () => {
    const { gate, calls, applied } = await openGate();
    const { trap, sprung, release } = trapAt(1, 'after');
    calls.begin(trap);
    const answer = fetch(`${addressOf(gate)}/1`).then(
      () => 'answered',
      () => 'none',
    );
    await sprung;
    release(false);
    gate.close();
    expect(await answer).toBe('none');
    expect(applied).toEqual(['/1']);
  });
});

/** A startup message has no type. */
const STARTUP = Buffer.from([0, 0, 0, 8, 0, 3, 0, 0]);
const message = (type: string, text: string): Buffer => {
  const body = Buffer.from(`${text}\0`);
  const header = Buffer.alloc(5);
  header.write(type);
  header.writeUInt32BE(4 + body.length, 1);
  return Buffer.concat([header, body]);
};
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

/** Responds to each statement in two parts. Returns the port. */
async function startServer(statements: string[]): Promise<number> {
  const server: Server = createServer((socket: Socket) => {
    opened.push({ close: () => socket.destroy() });
    socket.on('data', (chunk) => {
      if (chunk.equals(STARTUP)) {
        socket.write(READY);
        return;
      }
      statements.push(chunk.subarray(5, -1).toString());
      socket.write(message('C', 'done'));
      setImmediate(() => socket.write(READY));
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  opened.push(server);
  return (server.address() as AddressInfo).port;
}

describe('the PostgreSQL proxy', () => {
  async function openSession() {
    const statements: string[] = [];
    const calls = new Calls();
    const gate = await openPostgresGate(calls, await startServer(statements));
    opened.push(gate);
    const socket = connect(gate.port, '127.0.0.1');
    opened.push({ close: () => socket.destroy() });
    let received = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
    });
    const answer = async (bytes: number): Promise<Buffer> => {
      while (received.length < bytes) await once(socket, 'data');
      const text = received;
      received = Buffer.alloc(0);
      return text;
    };
    socket.write(STARTUP);
    expect(await answer(READY.length)).toEqual(READY);
    return { socket, calls, statements, answer, pending: () => received.length };
  }

  const ANSWER = Buffer.concat([message('C', 'done'), READY]);

  test.each([
    ['before', ['one']],
    ['after', ['one', 'two']],
  ] as const)(
    'stops a statement %s the server has applied it, and does not count the connection setup',
    async (side, expected) => {
      const { socket, calls, statements, answer, pending } = await openSession();
      const { trap, sprung, release } = trapAt(2, side);
      calls.begin(trap);

      socket.write(message('Q', 'one'));
      expect(await answer(ANSWER.length)).toEqual(ANSWER);
      socket.write(message('Q', 'two'));
      await sprung;
      expect([statements, pending()]).toEqual([expected, 0]);
      release(true);
      expect(await answer(ANSWER.length)).toEqual(ANSWER);
      expect([statements, calls.count]).toEqual([['one', 'two'], 2]);
    },
  );
});
