/** Uploads: files that the console checks, lets their person correct, and sends. */
import { ownJson } from '@partner-payments/wire'
import { notFound } from '../../kernel/api/index.ts'
import { after, type Clock, dayMs, minuteMs, newId, type Sealer } from '../../kernel/index.ts'
import type { Database, SealedColumn } from '../../postgres/index.ts'
import { createPartnerTurns, defineJob, type Job } from '../../postgres/jobs/index.ts'
import type { SignedInUser } from './member-deps.ts'
import * as store from './store-uploads.ts'

export type UploadKind = store.UploadRow['kind']

/** `content`: undefined after the upload was sent. `resultId` then names the result. */
export type Upload<Content> = Pick<store.UploadRow, 'id' | 'revision' | 'resultId' | 'createdAt' | 'expiresAt'> & {
  readonly content: Content | undefined
}

/** Lets one request at a time send an upload. */
export type SendingLease = { readonly id: string; readonly leaseId: string }

export type Uploads = {
  /** Stores a file for a week and returns its id. Deletes the person's oldest file of the kind beyond the limit. */
  readonly keep: (signed: Owner, kind: UploadKind, content: unknown) => Promise<string>
  /** Finds an upload. Refuses: not_found (also if the upload has expired or belongs to another person). */
  readonly find: <Content>(signed: Owner, kind: UploadKind, id: string) => Promise<Upload<Content>>
  /** Lists uploads that were not sent, newest first. */
  readonly unsent: (signed: Owner, kind: UploadKind) => Promise<readonly Pick<store.UploadRow, 'id' | 'createdAt'>[]>
  /** Replaces the content of an upload that is not being sent. False: it was changed, sent or leased meanwhile. */
  readonly replace: (
    signed: Owner,
    upload: { readonly id: string; readonly revision: number },
    content: unknown,
  ) => Promise<boolean>
  /** Leases an upload. Undefined: it was changed or sent meanwhile, or another request is sending it. The lease of a dead process expires. */
  readonly lease: (
    signed: Owner,
    upload: { readonly id: string; readonly revision: number },
  ) => Promise<SendingLease | undefined>
  readonly release: (signed: Owner, lease: SendingLease) => Promise<void>
  /** Deletes the content and stores the id of the result, so that a second send leads to the result. */
  readonly finish: (signed: Owner, lease: SendingLease, resultId: string) => Promise<void>
  /** Deletes an upload. Refuses: not_found. */
  readonly remove: (signed: Owner, kind: UploadKind, id: string) => Promise<void>
  /** Deletes expired uploads and returns their number. */
  readonly expireStep: () => Promise<number>
}

type Owner = Pick<SignedInUser, 'caller'>

/**
 * A file prepared on Friday can be sent on Thursday. It is not stored longer, because it contains names and accounts.
 */
const keptMs = 7 * dayMs
const perPersonMax = 20
/** Longer than it takes to create the payees of a file. */
const leaseMs = 3 * minuteMs
const expiredPerStepMax = 1000

const sealContext = (partnerId: string, id: string) => ['users.uploads', partnerId, id]

export const sealedUploads: SealedColumn = {
  table: 'users.uploads',
  column: 'content_sealed',
  key: { id: 'uuid' },
  contextOf: (partnerId, cell) => sealContext(partnerId, cell('id')),
}

type Deps = { readonly db: Database; readonly clock: Clock; readonly sealer: Sealer }

export function createUploads({ db, clock, sealer }: Deps): Uploads {
  const ownerKey = ({ caller }: Owner) => ({ partnerId: caller.partnerId, memberId: caller.serviceAccountId })
  const sealed = (partnerId: string, id: string, content: unknown) =>
    sealer.seal(JSON.stringify(content), sealContext(partnerId, id))
  return {
    keep: async (signed, kind, content) => {
      const owner = ownerKey(signed)
      const [id, now] = [newId(), clock.now()]
      const row = { ...owner, id, kind, contentSealed: sealed(owner.partnerId, id, content) }
      await db.transaction(async (tx) => {
        await store.insertUpload(tx, { ...row, createdAt: now, expiresAt: after(now, keptMs) })
        await store.deleteOldestUploads(tx, owner, kind, perPersonMax)
      })
      return id
    },
    find: async <Content>(signed: Owner, kind: UploadKind, id: string) => {
      const owner = ownerKey(signed)
      const row = await store.uploadById(db, owner, kind, id, clock.now())
      if (row === undefined) throw notFound('upload')
      const { contentSealed, ...upload } = row
      const content =
        contentSealed === null
          ? undefined
          : ownJson<Content>(sealer.open(contentSealed, sealContext(owner.partnerId, id)))
      return { ...upload, content }
    },
    unsent: (signed, kind) => store.unsentUploads(db, ownerKey(signed), kind, clock.now(), perPersonMax),
    replace: async (signed, { id, revision }, content) => {
      const owner = ownerKey(signed)
      const contentSealed = sealed(owner.partnerId, id, content)
      return (await store.replaceContent(db, owner, { id, revision, contentSealed }, clock.now())) === 1
    },
    lease: async (signed, { id, revision }) => {
      const now = clock.now()
      const lease = { id, revision, leaseId: newId(), until: after(now, leaseMs) }
      return (await store.leaseUpload(db, ownerKey(signed), lease, now)) === 1 ? lease : undefined
    },
    release: async (signed, lease) => {
      await store.releaseUpload(db, ownerKey(signed), lease)
    },
    finish: async (signed, lease, resultId) => {
      await store.finishUpload(db, ownerKey(signed), { ...lease, resultId }, clock.now())
    },
    remove: async (signed, kind, id) => {
      if ((await store.deleteUpload(db, ownerKey(signed), kind, id)) === 0) throw notFound('upload')
    },
    expireStep: createPartnerTurns(
      (afterId) => store.partnerWithExpiredUploads(db, afterId, clock.now()),
      (partnerId) => store.deleteExpiredUploads(db, partnerId, clock.now(), expiredPerStepMax),
    ),
  }
}

/** Creates the job that deletes expired uploads. */
export const uploadsJob = ({ expireStep }: Pick<Uploads, 'expireStep'>): Job =>
  defineJob({ name: 'users.uploads', due: store.uploadsDue, run: expireStep })
