import { expect, test } from '@jest/globals';
import { build } from 'esbuild';
import { PROJECT } from '../../local/directories.ts';

test('the service library contains no PostgreSQL driver, because each service brings its own', async () => {
  const { metafile } = await build({
    absWorkingDir: PROJECT,
    entryPoints: ['lambdas/services/once.ts', 'lambdas/services/vendor.ts', 'package/events.ts'],
    outdir: 'dist',
    write: false,
    bundle: true,
    format: 'esm',
    platform: 'node',
    mainFields: ['module', 'main'],
    metafile: true,
    logLevel: 'error',
  });
  const inputs = Object.keys(metafile.inputs);
  expect(inputs).toContain('lambdas/services/store/own-database.ts');
  expect(inputs.filter((file) => /^node_modules\/pg\b/.test(file))).toEqual([]);
});
