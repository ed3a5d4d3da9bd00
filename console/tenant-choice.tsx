import { Empty } from './parts.tsx';
import { addressOf, hashOf, usePlace } from './place.ts';

const MAX_OFFERED = 12;

/** Offers the tenants, where the screen needs one. The screen and its filters remain. */
export function TenantChoice({ title }: { readonly title: string }) {
  const { tenants, mode, tenant } = usePlace();
  const { path, filters } = addressOf(location.hash);
  // Without a tenant, the console chooses the mode in which the new tenant has payments.
  const scopeOf = (id: string) => (tenant === undefined ? { tenant: id } : { tenant: id, mode });
  return (
    <Empty
      title={title}
      hint={
        <>
          Choose a tenant at the top of the page
          {tenants.length > 0 && ', or here: '}
          {tenants.slice(0, MAX_OFFERED).map(({ id, name }, index) => (
            <span key={id}>
              {index > 0 && ', '}
              <a href={hashOf(path, scopeOf(id), filters)}>{name || id}</a>
            </span>
          ))}
          .
        </>
      }
    />
  );
}
