/** Customers as pages of other things name them: by name, with a link to their page. */
import type { PublicRequest } from '../../kernel/api/index.ts'
import { callOf, type Frame, ifFound, type Person } from './request.ts'

export type CustomerLink = { readonly name: string; readonly href?: string | undefined }

/** The links by id. An erased customer, or one that the person may not read, has its id as the name and no link. */
export async function customerLinksOf(
  { operate }: Frame,
  request: PublicRequest,
  person: Person,
  ids: readonly (string | undefined)[],
): Promise<ReadonlyMap<string, CustomerLink>> {
  const { view, caller } = person
  const mayRead = caller.permissions.includes('customers:read')
  const links = [...new Set(ids)]
    .flatMap((id) => (id === undefined ? [] : [id]))
    .map(async (id) => {
      const call = { ...callOf(person, request), params: { id } }
      const customer = mayRead ? await ifFound(operate('getCustomer', call)) : undefined
      if (customer === undefined) return [id, { name: id }] as const
      const { kyc, email } = customer
      const name = kyc.legalName ?? kyc.fullName ?? kyc.tradingName ?? email ?? id
      return [id, { name, href: `${view.root}customers/${id}` }] as const
    })
  return new Map(await Promise.all(links))
}
