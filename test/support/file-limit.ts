/**
 * Ends the process of a test file, or of a batch of them, that hangs, so that it fails and the other files still run. scripts/test.ts loads
 * it before each test file. The long form of the fault tests has no limit.
 */
import { isMainThread } from 'node:worker_threads'

const MINUTES = 30

if (isMainThread && process.env['NODE_TEST_CONTEXT'] !== undefined && process.env['FAULTS'] !== 'long')
  setTimeout(() => {
    console.error(`${process.argv[1]} has not ended after ${MINUTES} minutes`)
    process.exit(1)
  }, MINUTES * 60_000).unref()
