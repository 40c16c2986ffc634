/** The open hits of screening and the decisions about them. Two persons who signed in decide a hit of a high score. */
import { notFound, type PublicRequest, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import { decidesHits, type SignedStaff } from '../../people/staff/index.ts'
import { type Hit, outcomes } from '../../screening/index.ts'
import { page, readForm, seeOther } from '../kit/request.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { type DeskHit, hitPage, hitsPage } from './hit-pages.ts'
import { hitTexts } from './hit-texts.ts'
import { afterOf, type DeskFrame, keyOf, staffRoute } from './request.ts'
import { readThing } from './thing-routes.ts'
import { ownerOf } from './things.ts'

const hitsShown = 50
const noteCharsMax = 500

const toHit = ({ partnerId, id, name, listedName, source, score, openedAt, proposedBy }: Hit): DeskHit => ({
  ...{ partnerId, id, name, listedName, source, score, openedAt, proposedBy },
})

export function hitRoutes(frame: DeskFrame): readonly PublicRoute[] {
  const { db, screener, screening, staff } = frame
  const show = async (request: PublicRequest, view: ConsoleView, signed: SignedStaff, error?: string) => {
    const { partnerId, id } = keyOf(request)
    const hit = await screening.hit(partnerId, id)
    if (hit === undefined) throw notFound('hit')
    const { subjectKind, subjectId, role, status, decidedBy, proposal } = hit
    const compared = await screener.viewOf(db, hit)
    const decisions = await screening.decisionsOf(db, partnerId, id)
    const body = hitPage(view, {
      ...toHit(hit),
      ...{ compared, subjectKind, subjectId, role, status, decidedBy, proposal },
      hasEnded: hit.endedAt !== null,
      decisions: decisions.map(({ decidedAt: at, actor, kind, outcome, note }) => ({
        ...{ at, actor, what: `${kind}: ${outcome}`, note },
      })),
      thing: await readThing(frame, signed, { partnerId, kind: 'hit', subject: id }),
      mayDecide: decidesHits(signed.account.role),
      typed: readForm(request),
      ...(error === undefined ? {} : { error }),
    })
    return page(request, error === undefined ? 200 : 400, body)
  }
  const decide = async (request: PublicRequest, view: ConsoleView, signed: SignedStaff) => {
    const key = keyOf(request)
    const given = readForm(request)
    const texts = hitTexts[view.language]
    const outcome = outcomes.find((each) => each === given('outcome'))
    const note = given('note').trim()
    if (outcome === undefined) return show(request, view, signed, texts.outcomeWrong)
    if (note === '' || note.length > noteCharsMax) return show(request, view, signed, texts.noteWrong)
    try {
      await staff.decideHit(signed, { ...key, outcome, note })
      return seeOther(`../${key.id}`)
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'validation_failed') throw error
      return show(request, view, signed, error.detail)
    }
  }
  return [
    staffRoute(frame, 'hits', 'GET', '/hits', async (request, { view }) => {
      const rows = await screening.openHits(afterOf(request), hitsShown + 1)
      const shown = rows.slice(0, hitsShown)
      const last = rows.length > hitsShown ? shown.at(-1) : undefined
      const next = last === undefined ? null : `hits?at=${last.openedAt.toISOString()}&after=${last.id}`
      const keys = shown.map(({ partnerId, id: subject }) => ({ partnerId, kind: 'hit', subject }) as const)
      const owners = new Map((await staff.assignments.of(db, keys)).map((each) => [each.subject, each]))
      const hits = shown.map((hit) => ({ ...toHit(hit), owner: ownerOf(owners.get(hit.id))?.fullName ?? null }))
      return page(request, 200, hitsPage(view, { hits, next }))
    }),
    staffRoute(frame, 'hits', 'GET', '/hits/{partnerId}/{id}', (request, { view, signed }) =>
      show(request, view, signed),
    ),
    staffRoute(frame, 'hits', 'POST', '/hits/{partnerId}/{id}/decide', (request, { view, signed }) =>
      decide(request, view, signed),
    ),
  ]
}
