/**
 * A PostgreSQL server for the functions of a local AWS. Prints its port when it accepts connections, which must use
 * TLS. Ends on a termination signal.
 *
 *   node local/postgres-server.ts <directory> <preferred port>
 */
import { startCluster } from './postgres-cluster.ts';
import { sentenceOf } from './sentence.mjs';

/** Each process of a function uses one connection. */
const MAX_CONNECTIONS = 200;

const [, , directory = '', port = ''] = process.argv;
try {
  const server = await startCluster({
    directory,
    port: Number(port),
    maxConnections: MAX_CONNECTIONS,
    tls: true,
    onLog: (text) => process.stderr.write(text),
  });
  console.log(`port ${server.port}`);
} catch (error) {
  console.error(sentenceOf(error));
  process.exit(1);
}
