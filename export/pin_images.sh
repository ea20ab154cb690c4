#!/bin/sh
# Writes the images that docker-compose.yml and kustomization.yaml use to .env, with the digests
# that their tags have today: from then on the same images run, whatever becomes of the tags.
# Needs docker with buildx, which asks the registry and downloads no image.
set -eu
cd "$(dirname "$0")"

pinned() {
    digest=$(docker buildx imagetools inspect "$1" | sed -n 's/^Digest: *//p')
    if ! printf '%s\n' "$digest" | grep -Eqx 'sha256:[0-9a-f]{64}'; then
        echo "pin_images.sh: no digest is known for $1; .env is as it was" >&2
        return 1
    fi
    printf '%s@%s\n' "$1" "$digest"
}

serving=$(pinned tensorflow/serving:2.21.0)
nginx=$(pinned nginx:1.30-alpine)
printf 'TF_SERVING_IMAGE=%s\nNGINX_IMAGE=%s\n' "$serving" "$nginx" >.env
cat .env
