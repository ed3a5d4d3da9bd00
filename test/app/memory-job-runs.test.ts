import { MemoryJobRuns } from '../../lambdas/adapters/memory/memory-job-runs.ts';
import { describeJobRuns } from '../contract-suites/job-runs-suite.ts';

describeJobRuns('memory', async () => new MemoryJobRuns());
