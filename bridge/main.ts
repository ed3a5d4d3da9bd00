/**
 * The bridge between NATS JetStream and Payonce. It is a separate process, because Lambda has no event source for NATS.
 * It stores no state, because it could not send a message and record the send in one transaction.
 */

import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { SQSClient } from '@aws-sdk/client-sqs';
import {
  type ConnectionOptions,
  connect,
  credsAuthenticator,
  type NatsConnection,
  nkeyAuthenticator,
} from '@nats-io/transport-node';
import { defined } from '../lambdas/kernel/defined.ts';
import { EventBridge } from './events.ts';
import { aborted, Direction, type Health, log, serveHealth } from './health.ts';
import { RequestBridge } from './requests.ts';
import { type BridgeSettings, readBridgeSettings } from './settings.ts';

/**
 * Timeouts of one attempt, in milliseconds. With three attempts and the pauses between them, a call ends within 20
 * seconds.
 */
const CALLS = { requestTimeout: 5_000, throwOnRequestTimeout: true, connectionTimeout: 1_000 };
/** SQS waits up to 20 seconds for a message. */
const LONG_POLLS = { requestTimeout: 25_000, throwOnRequestTimeout: true, connectionTimeout: 1_000 };
/** Unacknowledged messages are redelivered. */
const SHUTDOWN_GRACE_MS = 3_000;

async function run(settings: BridgeSettings): Promise<void> {
  const { requests, events } = settings;
  const directions = {
    ...(requests === undefined ? {} : { requests: new Direction('requests') }),
    ...(events === undefined ? {} : { events: new Direction('events') }),
  };
  const health: Health = { isConnected: false, reconnects: 0, directions };
  const server = await serveHealth(health, settings.healthPort);
  log('info', `health check on port ${(server.address() as AddressInfo).port}`);
  const stop = stopSignal();
  const nats = await Promise.race([connect(optionsOf(settings.nats)), aborted(stop)]);
  if (nats === undefined) return;
  health.isConnected = true;
  void watchConnection(nats, health);
  log('info', `connected to ${nats.getServer()}`);
  const failed = new AbortController();
  const ending = AbortSignal.any([stop, failed.signal]);
  const works: Promise<void>[] = [];
  if (requests !== undefined && directions.requests !== undefined) {
    const sqs = new SQSClient({ maxAttempts: 3, requestHandler: CALLS });
    works.push(new RequestBridge(nats, sqs, requests, directions.requests).run(ending));
  }
  if (events !== undefined && directions.events !== undefined) {
    const sqs = new SQSClient({ maxAttempts: 3, requestHandler: LONG_POLLS });
    works.push(new EventBridge(nats, sqs, events, directions.events, health).run(ending));
  }
  // The NATS client reconnects without limit, so a closed connection is a fault that only a restart of the process can
  // fix.
  works.push(untilClosed(nats, ending));
  try {
    await Promise.all(works);
  } finally {
    failed.abort();
    await Promise.allSettled(works);
    await Promise.race([nats.drain().catch(() => undefined), sleep(SHUTDOWN_GRACE_MS)]);
  }
}

function optionsOf({ servers, login, tls }: BridgeSettings['nats']): ConnectionOptions {
  return {
    name: 'payonce-bridge',
    servers: [...servers],
    // Retry without limit: a server that is unavailable, or whose credentials are being changed, is expected to
    // recover.
    waitOnFirstConnect: true,
    maxReconnectAttempts: -1,
    ignoreAuthErrorAbort: true,
    reconnectTimeWait: 1_000,
    // Re-establish the connection when its pings are unanswered for 20 seconds.
    pingInterval: 10_000,
    maxPingOut: 2,
    ...defined({ tls }),
    ...loginOptions(login),
  };
}

function loginOptions(login: BridgeSettings['nats']['login']): ConnectionOptions {
  switch (login.kind) {
    case 'none':
      return {};
    case 'token':
      return { token: login.token };
    case 'password':
      return { user: login.user, pass: login.password };
    case 'credentials':
      return { authenticator: credsAuthenticator(login.file) };
    case 'nkey':
      return { authenticator: nkeyAuthenticator(login.seed) };
  }
}

async function watchConnection(nats: NatsConnection, health: Health): Promise<void> {
  for await (const status of nats.status()) {
    if (status.type === 'disconnect') health.isConnected = false;
    if (status.type === 'reconnect') {
      health.isConnected = true;
      health.reconnects += 1;
    }
    if (['disconnect', 'reconnect', 'error', 'slowConsumer'].includes(status.type)) log('info', `NATS: ${status.type}`);
  }
  health.isConnected = false;
}

async function untilClosed(nats: NatsConnection, ending: AbortSignal): Promise<void> {
  const error = await Promise.race([nats.closed(), aborted(ending)]);
  if (!ending.aborted) throw error ?? new Error('the connection to NATS was closed');
}

function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort());
  return stop.signal;
}

/**
 * Starts the bridge. The image contains a single CommonJS file, because the NATS libraries are CommonJS. CommonJS has
 * no top-level await, so the start is a function.
 */
async function main(): Promise<void> {
  try {
    await run(readBridgeSettings(process.env));
    log('info', 'stopped');
    process.exit(0);
  } catch (error) {
    log('error', error instanceof Error ? `${error.name}: ${error.message}` : String(error));
    process.exit(1);
  }
}

void main();
