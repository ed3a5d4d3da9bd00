import { describeExportFiles } from './export-files-suite.ts';
import { MemoryExportFiles } from './memory-export-files.ts';

describeExportFiles('memory', async () => {
  const files = new MemoryExportFiles();
  return { files, text: async (file) => files.files.get(file) };
});
