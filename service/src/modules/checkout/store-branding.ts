/** The SQL of branding: one row for each partner that has set something. */
import type { Logo } from '../../branding/index.ts'
import { present } from '../../kernel/index.ts'
import { ofPartners, sql, type Tx } from '../../postgres/index.ts'

export type Branding = {
  readonly name: string | null
  readonly colour: string | null
  readonly colourDark: string | null
  readonly logo: Uint8Array | null
  readonly logoType: Logo['type'] | null
}
export const noBranding: Branding = { name: null, colour: null, colourDark: null, logo: null, logoType: null }

/** The logo as documents draw it, null if they cannot, and the digest of the logo from which it was made. */
export type DrawnLogo = { readonly drawn: Uint8Array | null; readonly from: Uint8Array }

/** An absent field is unchanged. */
type Change = {
  readonly name: string | null | undefined
  readonly colour: string | null | undefined
  readonly colourDark: string | null | undefined
  readonly logo: (Logo & DrawnLogo) | null | undefined
}

export function brandingOf(tx: Tx, partnerId: string): Promise<Branding | undefined> {
  return tx.row<Branding>(sql`/* checkout.brandingOf */
    select name, colour, colour_dark, logo, logo_type from checkout.branding where partner_id = ${partnerId}`)
}

/** The brand for documents. `logo`: the one that was set, if it was not drawn yet. */
export function documentBrandOf(
  tx: Tx,
  partnerId: string,
): Promise<(Pick<Branding, 'name' | 'colour' | 'logo'> & { readonly drawn: Uint8Array | null }) | undefined> {
  return tx.row(sql`/* checkout.documentBrandOf */
    select name, colour, case when drawn_from = sha256(logo) then drawn_logo end as drawn,
      case when drawn_from is distinct from sha256(logo) then logo end as logo
    from checkout.branding where partner_id = ${partnerId}`)
}

/** Keeps the drawn logo, unless another logo was set meanwhile. */
export async function keepDrawnLogo(tx: Tx, partnerId: string, { drawn, from }: DrawnLogo): Promise<void> {
  await tx.run(sql`/* checkout.keepDrawnLogo */
    update checkout.branding set drawn_logo = ${drawn}, drawn_from = ${from}
    where partner_id = ${partnerId} and sha256(logo) = ${from}`)
}

/** Branding of a page, without the bytes of the logo. */
export type ShownBranding = Pick<Branding, 'name' | 'colour' | 'colourDark'> & {
  readonly partnerId: string
  /** Changes with the branding. */
  readonly updatedAt: Date
  readonly hasLogo: boolean
}

/** The branding of partners whose pages are read together. */
export function brandingsOf(tx: Tx, partnerIds: readonly string[]): Promise<readonly ShownBranding[]> {
  return tx.rows<ShownBranding>(sql`/* checkout.brandingsOf */
    select partner_id, name, colour, colour_dark, updated_at, logo is not null as has_logo from checkout.branding
    where ${ofPartners(partnerIds)}`)
}

/** Merges in one statement, so that two changes at once of different fields both hold. */
export async function mergeBranding(
  tx: Tx,
  partnerId: string,
  { name, colour, colourDark, logo }: Change,
  now: Date,
): Promise<Branding> {
  const merged = await tx.row<Branding>(sql`/* checkout.mergeBranding */
    insert into checkout.branding as kept (partner_id, name, colour, colour_dark, logo, logo_type,
      drawn_logo, drawn_from, updated_at)
    values (${partnerId}, ${name ?? null}, ${colour ?? null}, ${colourDark ?? null}, ${logo?.bytes ?? null}, ${logo?.type ?? null},
      ${logo?.drawn ?? null}, ${logo?.from ?? null}, ${now})
    on conflict (partner_id) do update set
      name = case when ${name === undefined} then kept.name else excluded.name end,
      colour = case when ${colour === undefined} then kept.colour else excluded.colour end,
      colour_dark = case when ${colourDark === undefined} then kept.colour_dark else excluded.colour_dark end,
      logo = case when ${logo === undefined} then kept.logo else excluded.logo end,
      logo_type = case when ${logo === undefined} then kept.logo_type else excluded.logo_type end,
      drawn_logo = case when ${logo === undefined} then kept.drawn_logo else excluded.drawn_logo end,
      drawn_from = case when ${logo === undefined} then kept.drawn_from else excluded.drawn_from end,
      updated_at = excluded.updated_at
    returning name, colour, colour_dark, logo, logo_type`)
  return present(merged, 'an upsert returns its row')
}
