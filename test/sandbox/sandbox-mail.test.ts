import { beforeEach, describe, expect, test } from '@jest/globals';
import { emptyBooks } from '../world/sandbox-books.ts';
import { describeMail } from './mail-suite.ts';
import { callSandbox } from './sandbox-calls.ts';
import { createTestSandbox, type SandboxHandler } from './sandbox-world.ts';

describeMail('memory', async () => emptyBooks());

describe('the mail service’s request validation:', () => {
  let handler: SandboxHandler;
  beforeEach(() => {
    ({ handler } = createTestSandbox());
  });

  const headers = { 'X-Postmark-Server-Token': 'any' };
  const email = { From: 'shop@example.org', To: 'ada@example.com', Subject: 'Thanks', TextBody: 'Thank you.' };
  const eleven = Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`field${index}`, 'x']));

  test.each([
    ['a missing recipient', { ...email, To: undefined }, 'To'],
    ['an invalid recipient', { ...email, To: 'ada' }, 'To'],
    ['an empty text', { ...email, TextBody: '' }, 'TextBody'],
    ['a subject that is too long', { ...email, Subject: 'x'.repeat(2_001) }, 'Subject'],
    ['metadata with a value that is too long', { ...email, Metadata: { order: 'x'.repeat(81) } }, 'Metadata'],
    ['metadata with a key that is too long', { ...email, Metadata: { [`x${'y'.repeat(20)}`]: '' } }, 'Metadata'],
    ['more than ten metadata fields', { ...email, Metadata: eleven }, 'Metadata'],
  ])('%s is rejected with 422 and the field’s name', async (_what, body, field) => {
    const call = { method: 'POST', path: '/email', headers, body: JSON.stringify(body) };
    const answer = await callSandbox(handler, call);
    expect(answer.status).toBe(422);
    expect(JSON.parse(answer.body)).toEqual({ ErrorCode: 300, Message: expect.stringContaining(field) });
  });

  test('a body that is not JSON gets a 422', async () => {
    const answer = await callSandbox(handler, { method: 'POST', path: '/email', headers, body: '{' });
    expect([answer.status, JSON.parse(answer.body)]).toEqual([422, { ErrorCode: 402, Message: 'Invalid JSON' }]);
  });

  test.each([
    ['POST', '/email'],
    ['GET', '/messages/outbound'],
    ['GET', '/messages/outbound/eml_1/details'],
    ['GET', '/server'],
  ])('%s %s without a token gets a 401', async (method, path) => {
    const answer = await callSandbox(handler, { method, path });
    expect([answer.status, JSON.parse(answer.body)]).toMatchObject([401, { ErrorCode: 10 }]);
  });

  test.each([
    ['no count', { offset: '0', tag: 'x' }],
    ['no offset', { count: '50', tag: 'x' }],
    ['a count of 501', { count: '501', offset: '0', tag: 'x' }],
    ['no filter', { count: '50', offset: '0' }],
    ['an unknown filter', { count: '50', offset: '0', tag: 'x', subject: 'x' }],
  ])('a search with %s is refused with 422', async (_what, query) => {
    const answer = await callSandbox(handler, { method: 'GET', path: '/messages/outbound', query, headers });
    expect([answer.status, JSON.parse(answer.body)]).toMatchObject([422, { ErrorCode: 600 }]);
  });

  test('GET /server gets a 200, and an unknown e-mail gets a 404', async () => {
    expect((await callSandbox(handler, { method: 'GET', path: '/server', headers })).status).toBe(200);
    const details = { method: 'GET', path: '/messages/outbound/eml_none/details', headers };
    expect((await callSandbox(handler, details)).status).toBe(404);
  });
});
