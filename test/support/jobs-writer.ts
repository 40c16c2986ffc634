/**
 * A process without jobs that commits one piece of work: `node jobs-writer.ts <database url> <announce | kill>`. It announces the commit
 * to the processes with jobs, or it is killed between the commit and the announcement.
 */
import { announceWrites } from '../../service/src/postgres/jobs/index.ts'
import { createLog } from '../../service/src/kernel/index.ts'
import { createDatabase, sql } from '../../service/src/postgres/index.ts'

const [, , url = '', mode] = process.argv
const db = createDatabase({ url, connectionsMax: 1, log: createLog('silent') })
const announcements = announceWrites(db, new Set(['public.work']))
db.onWritten(() => {
  if (mode === 'kill') process.kill(process.pid, 'SIGKILL')
})
await db.run(sql`insert into public.work (due_at) values (now())`)
await announcements.stop()
await db.close()
