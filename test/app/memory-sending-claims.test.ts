import { MemorySendingClaims } from '../../lambdas/adapters/memory/memory-sending-claims.ts';
import { describeSendingClaims } from '../contract-suites/sending-claims-suite.ts';
import { countingEntropy } from '../support/counting-entropy.ts';

describeSendingClaims('memory', async (clock) => new MemorySendingClaims(clock, countingEntropy()));
