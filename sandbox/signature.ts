import { createHmac } from 'node:crypto';

/** `seconds` is in Unix seconds. */
export function sign(secret: string, seconds: number, rawBody: string): string {
  const digest = createHmac('sha256', secret).update(`${seconds}.${rawBody}`).digest('hex');
  return `t=${seconds},v1=${digest}`;
}
