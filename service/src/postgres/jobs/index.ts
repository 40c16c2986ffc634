/**
 * The runtime of background jobs: leases, retries, wake-ups, due times, orderly shutdown. CONTRIBUTING.md says how to declare a job.
 */
export { type Age, defineJob, type Job, createTurns } from './job.ts'
export {
  type JobsOptions,
  type RunningJobs,
  startJobs,
  tablesOfJob,
  announceWrites,
  listenForWrites,
} from './runtime.ts'
