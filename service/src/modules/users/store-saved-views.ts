/** The SQL of saved views. */
import { sql, type Tx } from '../../postgres/index.ts'

export type SavedViewRow = {
  readonly id: string
  readonly memberId: string
  readonly page: string
  readonly name: string
  readonly query: string
  readonly isShared: boolean
}

const columns = sql`id, member_id, page, name, query, is_shared`

/** The views of a member and the shared ones of a page, by name. */
export function viewsOf(
  tx: Tx,
  partnerId: string,
  { memberId, page }: Pick<SavedViewRow, 'memberId' | 'page'>,
  viewsMax: number,
): Promise<readonly SavedViewRow[]> {
  return tx.rows<SavedViewRow>(sql`/* users.viewsOf */
    (select ${columns} from users.saved_views
      where partner_id = ${partnerId} and member_id = ${memberId} and page = ${page} order by name limit ${viewsMax})
    union
    (select ${columns} from users.saved_views
      where partner_id = ${partnerId} and page = ${page} and is_shared order by name, id limit ${viewsMax})
    order by name, id`)
}

/** Locks the member, so that two views saved at once are counted one after the other. Returns the number of its views. */
export async function countViews(tx: Tx, partnerId: string, memberId: string): Promise<number> {
  await tx.run(sql`/* users.countViews */
    select id from users.members where partner_id = ${partnerId} and id = ${memberId} for no key update`)
  const rows = await tx.rows(sql`/* users.countViews */
    select id from users.saved_views where partner_id = ${partnerId} and member_id = ${memberId}`)
  return rows.length
}

export async function insertView(tx: Tx, partnerId: string, row: SavedViewRow, now: Date): Promise<void> {
  await tx.run(sql`/* users.insertView */
    insert into users.saved_views (partner_id, id, member_id, page, name, query, is_shared, created_at, updated_at)
    values (${partnerId}, ${row.id}, ${row.memberId}, ${row.page}, ${row.name}, ${row.query}, ${row.isShared}, ${now}, ${now})`)
}

export function lockView(tx: Tx, partnerId: string, id: string): Promise<SavedViewRow | undefined> {
  return tx.row<SavedViewRow>(sql`/* users.lockView */
    select ${columns} from users.saved_views where partner_id = ${partnerId} and id = ${id} for no key update`)
}

export async function renameView(tx: Tx, partnerId: string, id: string, name: string, now: Date): Promise<void> {
  await tx.run(sql`/* users.renameView */
    update users.saved_views set name = ${name}, updated_at = ${now} where partner_id = ${partnerId} and id = ${id}`)
}

export async function deleteView(tx: Tx, partnerId: string, id: string): Promise<void> {
  await tx.run(sql`/* users.deleteView */
    delete from users.saved_views where partner_id = ${partnerId} and id = ${id}`)
}

/** Deletes the views that only a removed member saw. The team keeps the shared ones. */
export async function deletePrivateViews(tx: Tx, partnerId: string, memberId: string): Promise<void> {
  await tx.run(sql`/* users.deletePrivateViews */
    delete from users.saved_views where partner_id = ${partnerId} and member_id = ${memberId} and not is_shared`)
}
