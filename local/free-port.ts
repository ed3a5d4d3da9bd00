import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

export async function freePort(wanted: number): Promise<number> {
  return (await tryPort(wanted)) ?? (await tryPort(0)) ?? wanted;
}

export async function listenNear(server: Server, wanted: number): Promise<number> {
  const listen = async (port: number): Promise<unknown> => once(server.listen(port, '127.0.0.1'), 'listening');
  await listen(wanted).catch(() => listen(0));
  return portOf(server);
}

async function tryPort(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const chosen = portOf(server);
      server.close(() => resolve(chosen));
    });
  });
}

function portOf(server: Server): number {
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the server has no port');
  return address.port;
}
