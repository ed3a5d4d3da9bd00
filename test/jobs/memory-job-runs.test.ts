import { describeJobRuns } from './job-runs-suite.ts';
import { MemoryJobRuns } from './memory-job-runs.ts';

describeJobRuns('memory', async () => new MemoryJobRuns());
