/** Scans when a shard does not answer, simulated by a row policy that fails for one partner. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { atEnd, untilEnd } from '../../../test/support/fixture.ts'
import { createLog, newId, randomText } from '../kernel/index.ts'
import { acrossPartners, createDatabase, dueWork, firstPartners, sql } from './index.ts'

const log = createLog('silent')
const partnerIds = sql`select id from public.known order by id`
/** A role to which policies apply, unlike the owner of the tables. */
const role = `scanner_${randomText(16)
  .toLowerCase()
  .replaceAll(/[^a-z0-9]/g, '0')}`
const [away, first, second] = [newId(), newId(), newId()]

const database = await createTestDatabase()
atEnd(database.drop)
const plain = untilEnd(createDatabase({ url: database.url, connectionsMax: 1, log }))
await plain.pool.query(`
    create table public.known (id uuid);
    create table public.work (partner_id uuid, due_at integer);
    insert into public.known values ('${away}'), ('${first}'), ('${second}');
    insert into public.work values ('${away}', 1), ('${first}', 1), ('${first}', 2), ('${second}', 1);
    create function public.reach(partner_id uuid) returns boolean language plpgsql as $$
    begin
      if partner_id = '${away}' then
        raise exception 'connection to the remote node failed' using errcode = '08006';
      end if;
      return true;
    end $$;
    alter table public.work enable row level security;
    create policy shards on public.work using (public.reach(partner_id));
    create role ${role} login password '${role}';
    grant all on schema public to ${role}; grant all on all tables in schema public to ${role}`)
// Before its own connections close, and after those of the role.
atEnd(() => plain.pool.query(`drop owned by ${role}; drop role ${role}`))
const url = new URL(database.url)
Object.assign(url, { username: role, password: role })
const db = untilEnd(createDatabase({ url: url.href, connectionsMax: 2, log, sharded: true, partnerIds }))

const due = (after = '00000000-0000-0000-0000-000000000000') =>
  dueWork(
    'finds partners with due work',
    (whose) => sql`
    select partner_id from public.work where partner_id > ${after} and ${whose()} order by partner_id`,
  )

test('a due-work scan finds the work of the other partners if a shard does not answer', async () => {
  const rows = await db.rows<{ partnerId: string }>(due())
  assert.deepEqual(
    rows.map(({ partnerId }) => partnerId),
    [first, first, second],
  )
  assert.equal((await db.row<{ partnerId: string }>(due()))?.partnerId, first)
})

test('a scan across all partners fails if a shard does not answer', async () => {
  const statement = acrossPartners('counts all work', sql`select count(*) from public.work where due_at > ${0}`)
  await assert.rejects(db.rows(statement), { name: 'Unreachable' })
})

test("a statement of one partner fails if the partner's shard does not answer", async () => {
  await assert.rejects(db.rows(sql`select due_at from public.work where partner_id = ${away}`), { name: 'Unreachable' })
})

test('partners are found page by page', async () => {
  const page = await firstPartners(db, 1, () => due())
  assert.deepEqual(page, { partnerIds: [first], complete: false })
  assert.deepEqual(await firstPartners(db, 2, () => due(first)), { partnerIds: [second], complete: true })
})
