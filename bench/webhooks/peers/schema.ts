/** The tables of the peers, as an application would create them for a job queue library. */
export const schema = `
  create table events (id uuid primary key, partner integer not null, data text not null);
  create table pending (event_id uuid primary key);
  create table endpoints (id uuid primary key, partner integer not null, url text not null, secret text not null);
  create table attempts (
    delivery_id uuid not null, attempt integer not null, event_id uuid not null, endpoint_id uuid not null,
    started_at timestamptz not null, duration_ms integer not null, status integer, error text,
    primary key (delivery_id, attempt));`

/** The data of a job. */
export type Delivery = { readonly deliveryId: string; readonly eventId: string; readonly endpointId: string }
export const queueName = 'deliver'
